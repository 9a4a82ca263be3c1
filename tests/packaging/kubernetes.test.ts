import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { getPaths, iclSettings, kuboVersion, nodeVariables, readDocuments } from './manifests.ts'

const Probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.string() }).optional(),
  tcpSocket: z.object({ port: z.string() }).optional(),
  exec: z.object({ command: z.array(z.string()) }).optional(),
})
const Container = z.object({
  name: z.string(),
  image: z.string().regex(/:v?\d+\.\d+\.\d+$/),
  env: z.array(z.object({ name: z.string() }).loose()).default([]),
  envFrom: z.array(z.record(z.string(), z.object({ name: z.string() }))).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).default([]),
  startupProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  resources: z.object({ limits: z.object({ memory: z.string() }) }).loose(),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() }).loose()),
})
const Labels = z.record(z.string(), z.string())
const Pod = z.object({
  metadata: z.object({ labels: Labels }),
  spec: z.object({
    automountServiceAccountToken: z.literal(false),
    terminationGracePeriodSeconds: z.int(),
    securityContext: z.object({
      runAsNonRoot: z.literal(true),
      runAsUser: z.int().positive(),
      seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
    }),
    containers: z.tuple([Container]),
    volumes: z.array(z.object({ name: z.string() }).loose()).default([]),
  }),
})
const Workload = z.object({
  replicas: z.int(),
  selector: z.object({ matchLabels: Labels }),
  template: Pod,
  volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]),
})
const Resource = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string(), labels: Labels }),
  data: Labels.optional(),
  stringData: Labels.optional(),
  spec: z.unknown().optional(),
})

let resources: readonly z.output<typeof Resource>[] = []
const find = (kind: string, name: string) => {
  const found = resources.find((one) => one.kind === kind && one.metadata.name === name)
  if (!found) throw new Error(`There is no ${kind} ${name}`)
  return found
}
const workload = (kind: string, name: string) => Workload.parse(find(kind, name).spec)
const workloads = () => [
  workload('Deployment', 'svc-icl'),
  workload('StatefulSet', 'svc-kubo'),
  workload('StatefulSet', 'svc-node'),
]

describe('the Kubernetes manifests', () => {
  beforeAll(async () => {
    const files = ['icl.yaml', 'kubo.yaml', 'node.yaml', 'secret.example.yaml']
    const documents = await Promise.all(files.map((file) => readDocuments('kubernetes', file)))
    resources = documents.flat().map((document) => Resource.parse(document))
  })

  it('run everything without root, without rights, on a root that is only read', () => {
    expect(workloads().map(({ replicas }) => replicas)).toEqual([2, 1, 3])
    const pods = resources.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
    expect(pods).toHaveLength(workloads().length)
  })

  it('select the pods that they make, and mount the volumes that there are', () => {
    for (const { selector, template, volumeClaimTemplates } of workloads()) {
      expect(template.metadata.labels).toMatchObject(selector.matchLabels)
      const { volumes, containers } = template.spec
      const there = [
        ...volumes.map(({ name }) => name),
        ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
      ]
      expect(new Set(containers[0].volumeMounts.map(({ name }) => name))).toEqual(new Set(there))
    }
  })

  it('ask of the ICL what it answers, at the port where it listens', () => {
    const { template } = workload('Deployment', 'svc-icl')
    const [icl] = template.spec.containers
    const probes = [icl.startupProbe, icl.livenessProbe, icl.readinessProbe]
    expect(probes.map((probe) => probe?.httpGet?.path)).toEqual(['/livez', '/livez', '/readyz'])
    for (const probe of probes) expect(getPaths).toContain(probe?.httpGet?.path)
    expect(probes.map((probe) => probe?.httpGet?.port)).toEqual(['http', 'http', 'http'])
    const { SVC_ICL_PORT, SVC_ICL_DRAIN_SECONDS } = find('ConfigMap', 'svc-icl').data ?? {}
    expect(icl.ports).toEqual([{ name: 'http', containerPort: Number(SVC_ICL_PORT) }])
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
      Number(SVC_ICL_DRAIN_SECONDS) + 5,
    )
  })

  it('give the ICL settings that there are, all that it needs, secrets as secrets', () => {
    const open = Object.keys(find('ConfigMap', 'svc-icl').data ?? {})
    const secret = Object.keys(find('Secret', 'svc-icl').stringData ?? {})
    for (const name of [...open, ...secret]) expect(iclSettings.all).toContain(name)
    for (const name of iclSettings.required) expect([...open, ...secret]).toContain(name)
    expect(open.filter((name) => /SECRET|_KEY$|TOKEN|DATABASE|AUTHORIZATION/.test(name))).toEqual(
      [],
    )
  })

  it('give the nodes what they read, and time to end their jobs', async () => {
    const known = await nodeVariables()
    const { template } = workload('StatefulSet', 'svc-node')
    const names = [
      ...Object.keys(find('ConfigMap', 'svc-node').data ?? {}),
      ...template.spec.containers[0].env.map(({ name }) => name),
    ]
    for (const name of names) expect(known).toContain(name)
    expect(template.spec.terminationGracePeriodSeconds).toBe(90)
    expect(Object.keys(find('Secret', 'svc-node').stringData ?? {})).toEqual([
      'OPENAI_API_KEY',
      'password',
    ])
  })

  it('keep Kubo at the version that is tested, and for the ICLs alone', async () => {
    const { template } = workload('StatefulSet', 'svc-kubo')
    expect(template.spec.containers[0].image).toBe(`ipfs/kubo:${await kuboVersion()}`)
    expect(find('NetworkPolicy', 'svc-kubo').spec).toMatchObject({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'svc-kubo' } },
      ingress: [
        {
          from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'svc-icl' } } }],
          ports: [{ port: 'rpc' }],
        },
      ],
      egress: [],
    })
    expect(find('ConfigMap', 'svc-icl').data?.SVC_ICL_BLOBS).toBe('kubo:http://svc-kubo:5001')
    expect(find('Service', 'svc-kubo').spec).toMatchObject({ ports: [{ port: 5001 }] })
  })

  it('keep one ICL through a disruption, and let Prometheus in with the token', () => {
    const selector = { matchLabels: { 'app.kubernetes.io/name': 'svc-icl' } }
    expect(find('PodDisruptionBudget', 'svc-icl').spec).toEqual({ minAvailable: 1, selector })
    expect(getPaths).toContain('/metrics')
    expect(find('ServiceMonitor', 'svc-icl').spec).toMatchObject({
      selector,
      endpoints: [
        {
          port: 'http',
          path: '/metrics',
          authorization: { credentials: { name: 'svc-icl', key: 'SVC_ICL_METRICS_TOKEN' } },
        },
      ],
    })
    expect(find('Secret', 'svc-icl').stringData).toHaveProperty('SVC_ICL_METRICS_TOKEN')
  })
})
