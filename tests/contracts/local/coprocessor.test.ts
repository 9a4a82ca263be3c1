import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultKeysFolder } from '../../../contracts/local/coprocessor/parameters.ts'
import { startCoprocessor } from '../../../demo/coprocessor-process.ts'
import type { EncryptedInput } from '../../../lib/chain/encrypted-input.ts'
import { storeKey } from '../../../lib/chain/prompt-key-store.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { aHash } from '../../branded.ts'
import { until } from '../../eventually.ts'
import { isRunning } from '../../lib/host/coprocessor/processes.ts'
import { letRead } from '../let-read.ts'
import { childrenOf } from './children.ts'
import {
  type CoprocessorWorld,
  inputsOf,
  post,
  proveFor,
  startCoprocessorWorld,
  verifyRequest,
} from './coprocessor-world.ts'
import { openSealed, type SignedPermit, signPermit } from './permits.ts'

const OWNER = 4
const READER = 5
const STRANGER = 6
const HIGH = 0x00112233445566778899aabbccddeeffn
const LOW = 0xffeeddccbbaa99887766554433221100n
// The first start on a machine makes keys, and a proof takes long on a busy one.
const terms = aHash(`0x${'7e'.repeat(32)}`)
const PATIENCE_MS = 15 * 60_000

let world: CoprocessorWorld
let list = ''
let high: EncryptedInput
let highHandle = 0n
let lowHandle = 0n

beforeAll(async () => {
  world = await startCoprocessorWorld()
  const owner = world.addressOf(OWNER)
  list = await proveFor(world, owner, [HIGH, LOW])
  const { status, json } = await post(world, '/verify', verifyRequest(world, owner, list))
  expect(status).toBe(200)
  const [first, second] = inputsOf(json)
  if (first === undefined || second === undefined) throw new Error('two values went in')
  high = first
  const contract = world.contracts.promptKeyStore
  const stored = await storeKey({
    ...world.wallet(OWNER),
    contract,
    high,
    low: second,
    terms,
  })
  highHandle = stored.highHandle
  lowHandle = stored.lowHandle
  const key = { ...world.wallet(OWNER), contract, highHandle, lowHandle }
  await letRead(key, world.addressOf(READER))
}, PATIENCE_MS)
afterAll(() => world?.stop())

const seal = (handle: bigint, { permit }: SignedPermit, path = '/v2/sealoutput') =>
  post(world, path, {
    ct_tempkey: handle.toString(16).padStart(64, '0'),
    host_chain_id: world.anvil.chainId,
    permit,
  })

const denial = (reason: string) => ({
  status: 403,
  json: expect.objectContaining({ error: 'acl_denied', error_message: `ACL denied: ${reason}` }),
})

const expectReadable = async (): Promise<void> => {
  const permit = await signPermit(world.wallet(READER))
  const { status, json } = await seal(highHandle, permit)
  expect({ status, value: openSealed(json, permit) }).toEqual({ status: 200, value: HIGH })
}

describe('a key behind real ciphertexts', () => {
  it('is sealed to its readers, and to nobody else', async () => {
    for (const index of [OWNER, READER]) {
      const permit = await signPermit(world.wallet(index))
      expect(openSealed((await seal(highHandle, permit)).json, permit)).toBe(HIGH)
      const { json } = await seal(lowHandle, permit)
      expect(openSealed(json, permit)).toBe(LOW)
      expect(openSealed(json, await signPermit(world.wallet(index)))).toBe(undefined)
    }
  })

  it('comes again by the id of the request', async () => {
    const permit = await signPermit(world.wallet(READER))
    const { json } = await seal(highHandle, permit)
    const url = `${world.coprocessor.url}/v2/sealoutput`
    const again = await (await fetch(`${url}/${json.request_id}`)).json()
    expect(again).toEqual({ ...json, status: 'COMPLETED' })
    expect((await fetch(`${url}/nothing`)).status).toBe(404)
  })

  it('is for pages of this machine as well, and not for those of others', async () => {
    const url = `${world.coprocessor.url}/GetCrs`
    const allowed = async (origin: string) => {
      const answer = await fetch(url, { method: 'OPTIONS', headers: { origin } })
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-headers')).toBe('content-type')
      return answer.headers.get('access-control-allow-origin')
    }
    for (const origin of ['http://127.0.0.1:8080', 'http://localhost:3000']) {
      expect(await allowed(origin)).toBe(origin)
    }
    for (const origin of ['https://example.org', 'http://127.0.0.1.example.org', 'null']) {
      expect(await allowed(origin)).toBeNull()
    }
    const refused = await fetch(url, {
      method: 'POST',
      headers: { origin: 'http://localhost:3000' },
    })
    expect(refused.status).toBe(400)
    expect(refused.headers.get('access-control-allow-origin')).toBe('http://localhost:3000')
  })

  it('is decrypted in the open for who asks for that, signed by the verifier', async () => {
    const { status, json } = await seal(
      lowHandle,
      await signPermit(world.wallet(READER)),
      '/v2/decrypt',
    )
    expect(status).toBe(200)
    const bytes = Buffer.from(json.decrypted as number[])
    expect(BigInt(`0x${bytes.toString('hex')}`)).toBe(LOW)
    expect(json).toMatchObject({
      encryption_type: 6,
      signature: expect.stringMatching(/^[0-9a-f]{130}$/),
    })
  })

  it('is denied under its original handle, even to its owner', async () => {
    expect(high.ctHash).not.toBe(highHandle)
    const permit = await signPermit(world.wallet(OWNER))
    expect(await seal(high.ctHash, permit)).toEqual(denial('NotAllowed'))
  })

  it('is denied to a wallet without a grant', async () => {
    const permit = await signPermit(world.wallet(STRANGER))
    expect(await seal(highHandle, permit)).toEqual(denial('NotAllowed'))
    expect(await seal(highHandle, permit, '/v2/decrypt')).toEqual(denial('NotAllowed'))
  })

  it('is denied under an expired permit', async () => {
    const expiration = Math.floor(Date.now() / 1000) - 3600
    const permit = await signPermit(world.wallet(READER), { expiration })
    expect(await seal(highHandle, permit)).toEqual(denial('PermissionInvalid_Expired'))
  })

  it('is denied under a permit that a chain without traffic still takes for valid', async () => {
    const { publicClient } = world.wallet(READER)
    const expiration = Number((await publicClient.getBlock()).timestamp)
    await until(() => Math.floor(Date.now() / 1000) > expiration)
    const signed = await signPermit(world.wallet(READER), { expiration })
    const abi = parseAbi([
      'struct Permission { address issuer; uint64 expiration; address recipient; uint256 validatorId; address validatorContract; bytes32 sealingKey; bytes issuerSignature; bytes recipientSignature; }',
      'function isAllowedWithPermission(Permission permission, uint256 handle) view returns (bool)',
    ])
    const permission = {
      ...signed.permit,
      expiration: BigInt(expiration),
      validatorId: 0n,
    } as never
    const functionName = 'isAllowedWithPermission'
    const call = {
      address: taskManager,
      abi,
      functionName,
      args: [permission, highHandle],
    } as const
    expect(await publicClient.readContract(call)).toBe(true)
    expect(await seal(highHandle, signed)).toEqual(denial('PermissionInvalid_Expired'))
  })

  it('is denied under a permit that its issuer has not signed', async () => {
    const issuer = world.addressOf(READER)
    const permit = await signPermit(world.wallet(STRANGER), { issuer })
    expect(await seal(highHandle, permit)).toEqual(denial('PermissionInvalid_IssuerSignature'))
  })

  it('is not found when nothing was encrypted under the handle', async () => {
    const { status, json } = await seal(
      highHandle ^ (1n << 200n),
      await signPermit(world.wallet(READER)),
    )
    expect({ status, error: json.error }).toEqual({ status: 404, error: 'ct_not_found' })
  })

  it('cannot be stored by another wallet than the one that encrypted it', async () => {
    const contract = world.contracts.promptKeyStore
    const replayed = storeKey({ ...world.wallet(STRANGER), contract, high, low: high, terms })
    await expect(replayed).rejects.toMatchObject({ message: 'storeKey reverted: InvalidSigner' })
  })
})

describe('a proof', () => {
  const refusalOf = async (account: Hex, text: string) => {
    const { status, json } = await post(world, '/verify', verifyRequest(world, account, text))
    return { status, why: json.error_message }
  }

  it('is refused with a bit flipped', async () => {
    // In the middle: the list is well-formed still, the proof is not.
    const at = Math.floor(list.length / 2)
    const flipped = (Number.parseInt(list.charAt(at), 16) ^ 1).toString(16)
    const text = `${list.slice(0, at)}${flipped}${list.slice(at + 1)}`
    expect(await refusalOf(world.addressOf(OWNER), text)).toMatchObject({ status: 400 })
  })

  it('is refused for another account', async () => {
    expect(await refusalOf(world.addressOf(STRANGER), list)).toEqual({
      status: 400,
      why: 'the proof is invalid',
    })
  })

  it('is refused when it is none', async () => {
    for (const text of ['aa', list.slice(0, 2000), `00${list}`]) {
      const { status } = await refusalOf(world.addressOf(OWNER), text)
      expect(status).toBe(400)
    }
  })
})

const workerOf = (pid: number): number => {
  const [worker] = childrenOf(pid)
  if (worker === undefined) throw new Error(`${pid} has no worker`)
  return worker
}

it('a request that makes no sense is refused, whatever it is', async () => {
  const refusalOf = async (path: string, body: unknown) => {
    const { status, json } = await post(world, path, body)
    return { status, error: json.error }
  }
  const bad = { status: 400, error: 'bad_request' }
  const lost = { status: 404, error: 'not_found' }
  const verify = verifyRequest(world, world.addressOf(OWNER), 'aa')
  expect(await refusalOf('/verify', 'not JSON')).toEqual(bad)
  expect(await refusalOf('/verify', { ...verify, account_addr: 'me' })).toEqual(bad)
  expect(await refusalOf('/GetCrs', { securityZone: 7 })).toEqual(bad)
  expect(await refusalOf('/v2/sealoutput', { ct_tempkey: 'zz' })).toEqual(bad)
  expect(await refusalOf('/verify', { ...verify, chain_id: 1 })).toEqual({
    status: 400,
    error: 'unknown_chain',
  })
  expect(await refusalOf('/nowhere', {})).toEqual(lost)
  expect(await refusalOf('/constructor', {})).toEqual(lost)
  expect(await refusalOf('/verify', 'a'.repeat(1024 * 1024 + 1))).toEqual({
    status: 413,
    error: 'too_large',
  })
})

describe('when something dies', () => {
  it.skipIf(process.platform === 'win32')(
    'work of a killed worker fails, and another does what comes next',
    async () => {
      const request = JSON.stringify(verifyRequest(world, world.addressOf(STRANGER), list))
      const killWhileVerifying = async (): Promise<Response> => {
        const answer = fetch(`${world.coprocessor.url}/verify`, { method: 'POST', body: request })
        await new Promise((resolve) => setTimeout(resolve, 500))
        process.kill(workerOf(world.coprocessor.process.pid), 'SIGKILL')
        return await answer
      }
      // On a busy machine the worker may be hit before it has the work; then another does it.
      let killed = await killWhileVerifying()
      while (killed.status === 400) killed = await killWhileVerifying()
      const retryAfter = killed.headers.get('retry-after')
      expect({ status: killed.status, retryAfter }).toEqual({ status: 503, retryAfter: '5' })
      await expectReadable()
    },
  )

  it.skipIf(process.platform === 'win32')(
    'a coprocessor that is started again decrypts what was stored before',
    async () => {
      const { processes, folder, anvil, coprocessor } = world
      const worker = workerOf(coprocessor.process.pid)
      process.kill(coprocessor.process.pid, 'SIGKILL')
      await coprocessor.process.exited
      await until(async () => !(await isRunning(worker)))
      const { rpcUrl, chainId } = anvil
      const port = Number(new URL(coprocessor.url).port)
      const place = { processes, rpcUrl, chainId, dataFolder: folder, port }
      world.coprocessor = await startCoprocessor(place)
      const { url, verifier } = coprocessor
      expect(world.coprocessor).toMatchObject({ url, verifier })
      await expectReadable()
    },
  )
})

it.skipIf(process.platform === 'win32')(
  'under load turns away what would wait too long, and goes on',
  async () => {
    await expectReadable()
    const worker = workerOf(world.coprocessor.process.pid)
    const statuses: number[] = []
    const ask = async () => {
      const request = verifyRequest(world, world.addressOf(STRANGER), 'aa')
      statuses.push((await post(world, '/verify', request)).status)
    }
    // Nothing is done until all who are too many have been told so.
    process.kill(worker, 'SIGSTOP')
    const asked = Promise.all(Array.from({ length: 40 }, ask))
    try {
      await until(() => statuses.filter((status) => status === 429).length === 24)
    } finally {
      process.kill(worker, 'SIGCONT')
    }
    await asked
    expect(statuses.filter((status) => status === 400).length).toBe(16)
    await expectReadable()
  },
)

it('what it writes is for its user alone, and tells neither keys nor values', async () => {
  const keys = defaultKeysFolder(process.env)
  for (const name of ['client-key', 'public-key', 'crs', 'verifier-key']) {
    expect((await stat(join(keys, name))).mode & 0o777).toBe(0o600)
  }
  const log = await readFile(world.coprocessor.process.logFile, 'utf8')
  expect(log).toContain('FOR DEVELOPMENT ONLY: it protects nothing')
  const secret = (await readFile(join(keys, 'verifier-key'))).toString('hex')
  for (const word of [secret, HIGH.toString(16), LOW.toString(16), String(HIGH), String(LOW)]) {
    expect(log).not.toContain(word)
  }
})
