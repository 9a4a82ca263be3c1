import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { itWithKubo, kuboNote } from '../tools/kubo.ts'

const main = join(import.meta.dirname, '..', '..', 'demo', 'main.ts')

async function demo(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { OPENAI_API_KEY: _, SVC_OPENAI_BASE_URL: __, ...rest } = process.env
  const child = spawn(process.execPath, ['--no-env-file', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...rest, ...env },
  })
  const code = new Promise((resolve) => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

describe(`the demo with --blobs kubo${kuboNote}`, () => {
  itWithKubo(
    'finds prompt and output in Kubo under the identifiers that the job names',
    async () => {
      const { code, out, err } = await demo(['--blobs', 'kubo', '--json', 'Hello'])
      expect([code, code === 0 ? '' : err]).toEqual([0, ''])
      const { status, kubo } = JSON.parse(out)
      expect(status).toBe('accepted')
      expect(kubo).toEqual({
        prompt_cid: expect.stringMatching(/^bafkrei[a-z2-7]{52}$/),
        output_cid: expect.stringMatching(/^bafkrei[a-z2-7]{52}$/),
      })
      expect(kubo.prompt_cid).not.toBe(kubo.output_cid)
      expect(err).toContain(`${kubo.output_cid}  (encrypted, in Kubo)`)
    },
  )

  it('says what to do where Kubo is not built', async () => {
    const nowhere = { SVC_TOOLS_DIR: '/nonexistent/tools' }
    const { code, out, err } = await demo(['--blobs', 'kubo', '--json', 'Hello'], nowhere)
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'kubo-missing' } })
    expect(err).toContain('node scripts/install-tools.mjs kubo')
    expect(err).not.toContain('Starting')
  })

  it('knows no other place', async () => {
    expect(await demo(['--blobs', 'cloud', 'Hello'])).toMatchObject({ code: 2 })
  })
})
