import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { builtBinary } from '../../binary/executable.ts'
import { cannot, python, runPython, skipped } from '../../client/python/python.ts'
import { eventually } from '../../eventually.ts'
import { startCommandWorld } from '../commands/world.ts'

const home = 'node/python'
const cwd = fileURLToPath(new URL(`../../../${home}`, import.meta.url))
const commands = await startCommandWorld()
afterAll(() => commands.stop())

const printStatus = `
import json
from svc_node import ask_status
told = ask_status()
chain, certificate = told.chain._asdict(), told.certificate and told.certificate._asdict()
metrics = told.record and told.record.metrics._asdict()
troubles = {trouble.code: trouble.remedy for trouble in told.troubles}
models = [model._asdict() for model in told.models]
print(json.dumps({**told._asdict(), **locals(), "icl": told.icl._asdict()}, default=str))
`
const printLog =
  'import sys, svc_node\nfor line in svc_node.read_log(open(sys.argv[1], "rb")): print(line.level, line.event and line.event.name)'

describe.skipIf(cannot)(`the module svc_node in Python${skipped}`, () => {
  it('takes a node by python -m svc_node from init to its end, and reads its status and log', async () => {
    const { address, env: own, folder } = await commands.newOperator()
    const logFile = join(folder, 'node.log')
    const env = { ...own, SVC_NODE_EXECUTABLE: await builtBinary(), SVC_LOG_FILE: logFile }
    const run = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runPython(args, env, home)
      expect({ args, code, stderr }).toMatchObject({ code: 0 })
      return stdout
    }
    const status = async () => JSON.parse(await run('-c', printStatus))
    const svcNode = (line: string) => run('-m', 'svc_node', ...line.split(' '))
    await svcNode('init --force --scrypt-n 4096')
    expect(await status()).toMatchObject({
      ...{ address, eligible: false, certificate: null, record: null },
      chain: { registered: false, balance_wei: 0, withdrawable_at: null },
      troubles: { 'not-attested': expect.stringContaining('attest') },
    })
    await commands.fund(address, '3')
    await svcNode('register --yes')
    await svcNode('attest --mock')
    const daemon = spawn(python, ['-B', '-m', 'svc_node', 'run'], {
      env: { ...env, PATH: process.env.PATH ?? '', PYTHONPATH: 'src' },
      ...{ cwd, stdio: ['ignore', 'ignore', 'inherit'] },
    })
    const ended = once(daemon, 'close')
    const working = await eventually('the node gets jobs', async () => {
      const told = await status()
      return told.eligible === true && Object.keys(told.troubles).length === 0 ? told : undefined
    })
    expect(working).toMatchObject({
      ...{ address, takes_work: true, icl: { url: commands.world.icl.url, reachable: true } },
      ...{ certificate: { backend: 'mock' }, metrics: { reputation_score: 100 }, usage: [] },
      chain: { registered: true, active: true, stake_wei: 1e18, model_tiers: [0] },
      models: [{ model_id: 'openai:gpt-4o-mini', key_present: true }],
    })
    daemon.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    const lines = (await run('-c', printLog, logFile)).trim().split('\n')
    expect(lines).toEqual(expect.arrayContaining(['INFO daemon-starting', 'INFO heartbeat-sent']))
    expect(lines.filter((line) => line.startsWith('None'))).toEqual([])
  })
})
