import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  getPaths,
  iclSettings,
  kuboVersion,
  namesIn,
  nodeVariables,
  readPackaging,
  readYaml,
} from './manifests.ts'

const Networks = z.union([z.array(z.string()), z.record(z.string(), z.object({}).loose())])
const Service = z.object({
  image: z.string(),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  env_file: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z
    .record(z.string(), z.object({ condition: z.literal('service_healthy') }))
    .default({}),
  healthcheck: z.object({ test: z.tuple([z.literal('CMD')], z.string()) }).optional(),
  networks: Networks.transform((value) => (Array.isArray(value) ? value : Object.keys(value))),
  ports: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  stop_grace_period: z.string().optional(),
  command: z.array(z.string()).default([]),
})
const Compose = z.object({
  services: z.record(z.string(), Service),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.object({})),
  secrets: z.record(z.string(), z.object({ file: z.string().startsWith('./secrets/') })),
})

let compose: z.output<typeof Compose>
const service = (name: string) => {
  const found = compose.services[name]
  if (!found) throw new Error(`There is no service ${name}`)
  return found
}

describe('the compose file', () => {
  beforeAll(async () => {
    compose = Compose.parse(await readYaml('compose', 'compose.yaml'))
  })

  it('is two ICLs behind a proxy, MongoDB, Kubo and three nodes, all confined', () => {
    const names = ['icl-1', 'icl-2', 'kubo', 'mongodb', 'node-1', 'node-2', 'node-3', 'proxy']
    expect(new Set(Object.keys(compose.services))).toEqual(new Set(names))
  })

  it('uses only what it declares, and waits only for what says how it is', () => {
    for (const [name, { networks, secrets, volumes, depends_on }] of Object.entries(
      compose.services,
    )) {
      for (const network of networks) expect(Object.keys(compose.networks)).toContain(network)
      for (const secret of secrets) expect(Object.keys(compose.secrets)).toContain(secret)
      for (const volume of volumes.filter((text) => !text.startsWith('.'))) {
        expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0])
      }
      for (const needed of Object.keys(depends_on)) {
        expect([name, needed, service(needed).healthcheck]).not.toContain(undefined)
      }
    }
  })

  it('shows this machine one port, and keeps the nodes away from what is kept', () => {
    const published = Object.values(compose.services).flatMap(({ ports }) => ports)
    expect(published).toEqual(['127.0.0.1:8080:8080'])
    expect(compose.networks.back?.internal).toBe(true)
    for (const name of ['mongodb', 'kubo']) expect(service(name).networks).toEqual(['back'])
    for (const name of ['node-1', 'node-2', 'node-3', 'proxy']) {
      expect(service(name).networks).toEqual(['front'])
    }
  })

  it('pins what it does not build, Kubo to the version that is tested', async () => {
    for (const { image } of Object.values(compose.services)) {
      if (image !== 'svc-icl' && image !== 'svc-node') expect(image).toMatch(/:v?\d+\.\d/)
    }
    expect(service('kubo').image).toBe(`ipfs/kubo:${await kuboVersion()}`)
    expect(service('kubo').command).toContain('--offline')
  })

  it('gives the ICLs the same settings, each of which there is, and none is missing', async () => {
    const example = await readPackaging('compose', 'icl.env.example')
    const { environment } = service('icl-1')
    expect(service('icl-2')).toEqual({ ...service('icl-1'), volumes: ['icl-2:/data'] })
    const given = [...Object.keys(environment), ...namesIn(example)]
    for (const name of [...given, ...namesIn(example, true)])
      expect(iclSettings.all).toContain(name)
    for (const name of iclSettings.required) expect(given).toContain(name)
    expect(environment.SVC_ICL_BLOBS).toBe('kubo:http://kubo:5001')
  })

  it('gives the nodes what they read', async () => {
    const known = await nodeVariables()
    const example = await readPackaging('compose', 'node.env.example')
    const given = [...Object.keys(service('node-1').environment), ...namesIn(example, true)]
    for (const name of given) expect(known).toContain(name)
    expect(given).toContain('SVC_ICL_ENDPOINT')
    expect(service('node-1').stop_grace_period).toBe('90s')
  })

  it('has no secret in it: examples leave them empty', async () => {
    const text = await readPackaging('compose', 'compose.yaml')
    expect(text).not.toMatch(/(SECRET|_KEY|TOKEN): \S/)
    for (const file of ['icl.env.example', 'node.env.example']) {
      const example = await readPackaging('compose', file)
      expect(example).not.toMatch(/(SECRET|_KEY|TOKEN)=\S/)
    }
    expect((await readPackaging('compose', '.gitignore')).trim().split('\n')).toEqual([
      'icl.env',
      'node.env',
      'secrets/',
    ])
  })

  it('asks of the ICLs what they answer, through a proxy that knows both', async () => {
    const port = service('icl-1').environment.SVC_ICL_PORT
    const asked = Object.values(compose.services).flatMap(({ healthcheck }) =>
      [...(healthcheck?.test.join(' ') ?? '').matchAll(/127\.0\.0\.1:8080(\/[\w/]*)/g)].map(
        ([, path]) => path,
      ),
    )
    expect(asked).toEqual(['/livez', '/readyz', '/readyz'])
    for (const path of asked) expect(getPaths).toContain(path)
    const proxy = await readPackaging('compose', 'proxy.conf')
    for (const name of ['icl-1', 'icl-2']) expect(proxy).toContain(`server ${name}:${port} `)
    // One proxy adds to the header, and that is how many the ICLs are told of.
    expect(proxy.match(/X-Forwarded-For \$proxy_add_x_forwarded_for/g)).toHaveLength(1)
    // In the file that the operator edits: what stands in compose.yaml would overrule it.
    expect(await readPackaging('compose', 'icl.env.example')).toContain(
      '\nSVC_ICL_TRUSTED_PROXIES=1\n',
    )
    expect(service('icl-1').environment).not.toHaveProperty('SVC_ICL_TRUSTED_PROXIES')
    // An answer that any caller can bring about is no failure of the ICL that gave it.
    expect(proxy).toMatch(/proxy_next_upstream error timeout;/)
    expect(proxy).toContain('proxy_buffering off;')
  })
})
