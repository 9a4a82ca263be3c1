import { readFile } from 'node:fs/promises'
import { toEventSelector } from 'viem'
import { describe, expect, it } from 'vitest'
import { answerJson, startServer } from '../../local-server.ts'
import type { ClientWorld } from '../client-world.ts'
import { cannot, runPython, skipped } from './python.ts'

const readme = new URL('../../../client/python/README.md', import.meta.url)

type Log = { readonly topics: readonly string[] }
type Answer = { readonly result?: unknown }

/** Asks as the README says. Without `change` at the chain's RPC, else at a server that changes the RPC's answers; undefined loses one. */
async function askAt(
  { environment }: ClientWorld,
  change?: (method: string, answer: Answer) => Answer | undefined,
) {
  const [, code = ''] = /```python\n(.*?)```/s.exec(await readFile(readme, 'utf8')) ?? []
  if (change === undefined) return await runPython(['-c', code], environment)
  const rpc = await startServer(async (response, { body }) => {
    const headers = { 'content-type': 'application/json' }
    const asked = await fetch(String(environment.SVC_RPC_URL), { method: 'POST', body, headers })
    const answer = change(JSON.parse(body).method, (await asked.json()) as Answer)
    answerJson(response, answer === undefined ? 503 : 200, answer ?? {})
  })
  try {
    return await runPython(['-c', code], { ...environment, SVC_RPC_URL: rpc.url })
  } finally {
    await rpc.close()
  }
}

export function testPython(place: () => ClientWorld): void {
  describe.skipIf(cannot)(`the client in Python${skipped}`, () => {
    const answered = { code: 0, stdout: 'Answer to: What is a buoy for?\n', stderr: '' }

    it('asks on the local chain, as its README says', async () => {
      expect(await askAt(place())).toEqual(answered)
    })

    it('derives the secret of its jobs as other clients of its wallet do, so that they open them', async () => {
      const { client } = place()
      const [job] = (await client.jobs()).jobs
      const opened = await client.open(job!.jobId)
      expect(opened).toMatchObject({ status: 'accepted', output: answered.stdout.trim() })
    })

    it('sends each transaction once, although the answers to it are lost', async () => {
      const sent: unknown[] = []
      const ended = await askAt(place(), (method, answer) => {
        if (method !== 'eth_sendTransaction') return answer
        if (answer.result === undefined) return answer
        sent.push(answer.result)
        return undefined
      })
      expect([ended, sent.length]).toEqual([answered, 2])
    })

    it('refuses an answer that the chain opened to a stranger', async () => {
      const event = toEventSelector('AccessGranted(uint256,uint256,address,address)')
      const stranger = `0x${'5'.repeat(64)}`
      const { code, stdout, stderr } = await askAt(place(), (method, answer) => {
        if (method !== 'eth_getLogs') return answer
        const logs = answer.result as readonly Log[]
        const granted = logs.filter(({ topics }) => topics[0] === event)
        const lies = granted.map((log) => ({ ...log, topics: log.topics.with(2, stranger) }))
        return { ...answer, result: [...logs, ...lies] }
      })
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/SvcError: The answer is open to 0x5+, which the receipt/)
    })
  })
}
