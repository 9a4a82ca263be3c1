import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anAddress } from '../../branded.ts'
import { answerJson, startServer } from '../../local-server.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { startStubChain } from '../stub-chain.ts'
import { startStubIcl } from '../stub-icl.ts'
import { ctrlC, ctrlD, enter, type OnTerminal, runOnTerminal, up } from './pty.ts'
import { type CommandWorld, startCommandWorld } from './world.ts'

const key = '000102030405060708090a0b0c0d0e0f'
const password = 'correct horse'

let home: string
const running: OnTerminal[] = []

const icl = await startStubIcl()
const chain = await startStubChain()
afterAll(async () => {
  await icl.close()
  await chain.close()
})
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-terminal-'))
})
afterEach(async () => {
  for (const terminal of running.splice(0)) terminal.stop()
  await rm(home, { recursive: true })
})

const open = (args: readonly string[], env: Record<string, string> = {}): OnTerminal => {
  const terminal = runOnTerminal(args, { HOME: home, ...env })
  running.push(terminal)
  return terminal
}
const init = (env: Record<string, string> = {}) => open(['init', '--scrypt-n', '4096'], env)
const folder = () => join(home, '.svc')
const configOf = async () => JSON.parse(await readFile(join(folder(), 'config.json'), 'utf8'))

/** Answers the questions of `init` up to the last one. */
async function answerInit(terminal: OnTerminal, rpc: string): Promise<void> {
  await terminal.answer('Address of the ICL', `${icl.url}${enter}`)
  await terminal.answer('Address of a chain RPC', `${rpc}${enter}`)
  await terminal.answer('Where do the models run?', enter)
  await terminal.answer('Models to serve', `openai:gpt-x${enter}`)
  await terminal.answer('A password for the keystore', `${password}${enter}`)
  await terminal.answer('The same again', `${password}${enter}`)
}

describe('svc-node init on a terminal', () => {
  it('asks, shows the network, and makes what the flags would make', async () => {
    const terminal = init()
    await answerInit(terminal, chain.url)
    await terminal.answer('Write ', enter)
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).toContain('Chain 31337, ICL version')
    expect(terminal.screen()).toMatch(/Operator address: 0x[0-9a-f]{40}/)
    expect(terminal.screen()).not.toContain(password)
    expect(await configOf()).toEqual({
      attestation_backend: 'mock',
      icl_endpoint: icl.url,
      cofhe_endpoint: chain.url,
      supported_model_ids: ['openai:gpt-x'],
    })
    for (const file of ['config.json', 'keystore.json']) {
      expect((await stat(join(folder(), file))).mode & 0o777).toBe(0o600)
    }
  })

  it('serves the models that it shows when nothing is typed, and says what mock attestation needs', async () => {
    const terminal = init({ SVC_KEY_PASSWORD: password })
    await terminal.answer('Address of the ICL', `${icl.url}${enter}`)
    await terminal.answer('Address of a chain RPC', `${chain.url}${enter}`)
    await terminal.answer('Where do the models run?', enter)
    await terminal.answer('Models to serve', enter)
    await terminal.answer('Write ', enter)
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).toContain("which the ICL's operator gives out")
    expect((await configOf()).supported_model_ids).toEqual(['openai:gpt-4o-mini', 'openai:gpt-4o'])
  })

  it('tries answers out, says what is wrong with them, and asks again', async () => {
    const terminal = init()
    await terminal.answer('Address of the ICL', `ftp://icl${enter}`)
    await terminal.answer('must be', '\u007f'.repeat(9))
    await terminal.answer('', `http://127.0.0.1:9${enter}`)
    await terminal.answer('Use this address all the same?', enter)
    await terminal.answer('Address of the ICL', '\u007f'.repeat(18))
    await terminal.answer('', `${icl.url}${enter}`)
    await terminal.answer('Address of a chain RPC', `http://127.0.0.1:9${enter}`)
    await terminal.answer('Use this address all the same?', `y`)
    await terminal.answer('Where do the models run?', enter)
    await terminal.answer('Models to serve', `a b${enter}`)
    await terminal.answer('must be <provider>:<model>', '\u007f'.repeat(3))
    await terminal.answer('', `gpt-x${enter}`)
    await terminal.answer('A password for the keystore', `short${enter}`)
    await terminal.answer('at least 8 characters', '\u007f'.repeat(5))
    await terminal.answer('', `${password}${enter}`)
    await terminal.answer('The same again', `another horse${enter}`)
    await terminal.answer('The two differ', '')
    await terminal.answer('A password for the keystore', `${password}${enter}`)
    await terminal.answer('The same again', `${password}${enter}`)
    await terminal.answer('Write ', enter)
    expect(await terminal.exited).toBe(0)
    expect(await configOf()).toMatchObject({
      icl_endpoint: icl.url,
      cofhe_endpoint: 'http://127.0.0.1:9',
      supported_model_ids: ['openai:gpt-x'],
    })
  })

  it('offers any OpenAI-compatible server, tries it out, and shows its models', async () => {
    const server = await startServer((response, { path }) =>
      path === '/v1/models'
        ? answerJson(response, 200, { data: [{ id: 'llama3:8b' }] })
        : answerJson(response, 404, { detail: 'Not Found' }),
    )
    try {
      const terminal = init({ SVC_KEY_PASSWORD: password })
      await terminal.answer('Address of the ICL', `${icl.url}${enter}`)
      await terminal.answer('Address of a chain RPC', `${chain.url}${enter}`)
      await terminal.answer('another OpenAI-compatible server', `${up}${enter}`)
      await terminal.answer('A name for it', `ollama${enter}`)
      await terminal.answer('Base URL of ollama', `${server.url}/api${enter}`)
      await terminal.answer('has no API at this path', '')
      await terminal.answer('Use this address all the same?', enter)
      await terminal.answer('Base URL of ollama', '\u007f'.repeat(4))
      await terminal.answer('', enter)
      await terminal.answer('It has llama3:8b', '')
      await terminal.answer('Models to serve', `llama3:8b${enter}`)
      await terminal.answer('Write ', enter)
      expect(await terminal.exited).toBe(0)
      expect(terminal.screen()).not.toContain('for your models')
      expect(await configOf()).toMatchObject({
        supported_model_ids: ['ollama:llama3:8b'],
        providers: { ollama: { base_url: server.url } },
      })
    } finally {
      await server.close()
    }
  })

  it('asks what run may pay to register, unless the ICL is for development', async () => {
    const other = await startStubChain(5)
    icl.answers.chainId = 5
    try {
      const terminal = init({ SVC_KEY_PASSWORD: password, SVC_SUPPORTED_MODEL_IDS: 'openai:x' })
      await terminal.answer('Address of the ICL', `${icl.url}${enter}`)
      await terminal.answer('Address of a chain RPC', `${other.url}${enter}`)
      await terminal.answer('may pay to register by itself', `1,5${enter}`)
      await terminal.answer('takes an amount of ether', '\u007f'.repeat(3))
      await terminal.answer('', `1.5${enter}`)
      await terminal.answer('Write ', enter)
      expect(await terminal.exited).toBe(0)
      const { contracts } = sampleNetwork()
      const allowed = { register_up_to: '1.5', node_registry: contracts.node_registry }
      expect(await configOf()).toMatchObject(allowed)
    } finally {
      delete icl.answers.chainId
      await other.close()
    }
  })

  it('asks nothing with --yes: a password that is typed once may hold a slip', async () => {
    const flags = ['--icl-endpoint', icl.url, '--cofhe-endpoint', chain.url, '--models', 'openai:x']
    const terminal = open(['init', '--yes', '--scrypt-n', '4096', ...flags])
    expect(await terminal.exited).toBe(1)
    expect(terminal.screen()).toContain('the keystore needs a password')
    expect(await readdir(home)).not.toContain('.svc')
  })

  it('asks only for what is missing', async () => {
    const terminal = init({
      SVC_ICL_ENDPOINT: icl.url,
      SVC_COFHE_ENDPOINT: chain.url,
      SVC_SUPPORTED_MODEL_IDS: 'openai:gpt-x',
      SVC_KEY_PASSWORD: password,
    })
    await terminal.answer('Write ', enter)
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).not.toContain('Address of')
  })

  for (const [place, until] of [
    ['the first question', 0],
    ['the last one', 1],
  ] as const) {
    it(`leaves nothing behind and ends with 1 on Ctrl-C at ${place}`, async () => {
      const terminal = init()
      if (until === 1) await answerInit(terminal, chain.url)
      await terminal.answer(until === 1 ? 'Write ' : 'Address of the ICL', ctrlC)
      expect(await terminal.exited).toBe(1)
      expect(terminal.screen()).toContain('error: interrupted')
      expect(await readdir(home)).not.toContain('.svc')
    })
  }
})

it('a question on a terminal ends with 1 on Ctrl-D', async () => {
  const terminal = init()
  await terminal.answer('Address of the ICL', ctrlD)
  expect(await terminal.exited).toBe(1)
  expect(terminal.screen()).toContain('error: interrupted')
})

it('svc-node attest on a terminal asks for the mock key and keeps it if told so', async () => {
  const first = init({ SVC_KEY_PASSWORD: password })
  await first.answer('Address of the ICL', `${icl.url}${enter}`)
  await first.answer('Address of a chain RPC', `${chain.url}${enter}`)
  await first.answer('Where do the models run?', enter)
  await first.answer('Models to serve', `openai:gpt-x${enter}`)
  await first.answer('Write ', enter)
  expect(await first.exited).toBe(0)

  const mistaken = open(['attest'])
  await mistaken.answer('The mock attestation key', `${key}${enter}`)
  await mistaken.answer('Keystore password', 'one\r')
  for (const wrong of ['two', 'three']) {
    // The question that was answered is drawn once more: only this line says that the next one is asked.
    await mistaken.answer('This password does not open the keystore', '')
    await mistaken.answer('Keystore password', `${wrong}\r`)
  }
  expect(await mistaken.exited).toBe(1)
  expect(mistaken.screen()).toContain('hint: If it is the right one, restore')
  // A key that was never of use is not kept.
  expect(await configOf()).not.toHaveProperty('mock_attestation_key')

  const interrupted = open(['attest'])
  await interrupted.answer('The mock attestation key', `${key}${enter}`)
  await interrupted.answer('Keystore password', `${password}\r`)
  await interrupted.answer('Keep the key in ', ctrlC)
  expect(await interrupted.exited).toBe(1)
  // It says that nothing more was done, so what was done must be there.
  expect(interrupted.screen()).toContain('Attested 0x')

  const terminal = open(['attest'])
  await terminal.answer('The mock attestation key', `${key}${enter}`)
  await terminal.answer('Keystore password', 'wrong\r')
  await terminal.answer('This password does not open the keystore', '')
  await terminal.answer('Keystore password', `${password}\r`)
  await terminal.answer('Keep the key in ', enter)
  expect(await terminal.exited).toBe(0)
  expect(terminal.screen()).toContain('Attested 0x')
  expect(terminal.screen()).not.toContain(key)
  expect(await configOf()).toMatchObject({ mock_attestation_key: key })
  expect((await stat(join(folder(), 'config.json'))).mode & 0o777).toBe(0o600)
  expect(await readdir(folder())).toContain('attestation.json')
})

describe('registering from init', () => {
  let commands: CommandWorld
  beforeAll(async () => {
    commands = await startCommandWorld()
  }, 180_000)
  afterAll(() => commands.stop())

  it('names stake and gas, waits for the money, and registers', async () => {
    const { world } = commands
    const terminal = init({
      SVC_ICL_ENDPOINT: world.icl.url,
      SVC_COFHE_ENDPOINT: world.chain.rpcUrl,
      SVC_SUPPORTED_MODEL_IDS: 'openai:gpt-x',
      SVC_KEY_PASSWORD: password,
    })
    await terminal.answer('Write ', enter)
    await terminal.answer('Register now at NodeRegistry 0x', '')
    await terminal.answer('with a stake of at least 1 ETH', 'y')
    await terminal.answer('Send 1.0', '')
    const [, address = ''] = /Operator address: (0x[0-9a-f]{40})/.exec(terminal.screen()) ?? []
    await commands.fund(anAddress(address), '1.1')
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).toContain('is registered for tier 0 with 1 ETH at stake and active')
  })

  it('keeps what was made when the wait is interrupted', async () => {
    const { world } = commands
    const terminal = init({
      SVC_ICL_ENDPOINT: world.icl.url,
      SVC_COFHE_ENDPOINT: world.chain.rpcUrl,
      SVC_SUPPORTED_MODEL_IDS: 'openai:gpt-x',
      SVC_KEY_PASSWORD: password,
    })
    await terminal.answer('Write ', enter)
    await terminal.answer('Register now', 'y')
    await terminal.answer('Send 1.0', ctrlC)
    expect(await terminal.exited).toBe(1)
    expect(terminal.screen()).toContain('Go on with `svc-node register`')
    expect((await readdir(folder())).toSorted()).toEqual([
      'config.json',
      'keystore.json',
      'run.lock',
    ])
  })

  it('asks before it sends anything', async () => {
    const node = await commands.newOperator()
    await commands.fund(node.address, '2')
    const refused = open(['register'], node.env)
    await refused.answer(`with a stake of 1 ETH (as ${node.address} at NodeRegistry`, 'n')
    expect(await refused.exited).toBe(1)
    expect((await node.run(['status'])).out).toContain('not registered')
    const agreed = open(['register'], node.env)
    await agreed.answer('with a stake of 1 ETH', 'y')
    expect(await agreed.exited).toBe(0)
    expect(agreed.screen()).toContain('is registered for tier 0')
  })
})
