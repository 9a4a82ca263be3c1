import { MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY } from '@cofhe/sdk'
import { encodeAbiParameters, encodePacked, type Hex, keccak256, numberToHex } from 'viem'
import { sign } from 'viem/accounts'
import { promptOfText, writePrompt } from '../../../lib/prompt.ts'
import { joinKey, seal, splitKey } from '../../../lib/sealing.ts'
import { aJobId, anAddress } from '../../branded.ts'
import { fill, hex } from './bytes.ts'

const key = joinKey({ high: 0x000102030405060708090a0b0c0d0e0fn, low: (1n << 128n) - 2n })
const iv = fill(0x0c, 12)
const client = anAddress(`0x${'c1'.repeat(20)}`)
const jobId = aJobId(`0x${'ab'.repeat(32)}`)
const prompt = { kind: 'prompt', client } as const
const output = { kind: 'output', jobId } as const

const sealed = async (text: string, purpose: typeof prompt | typeof output) =>
  await seal(text, key, purpose, { bytes: (length) => iv.slice(0, length) })

/** Sealed prompts and outputs, and blobs that must not open. */
export async function sealingVectors(): Promise<object> {
  const { high, low } = splitKey(key)
  const halves = { key: hex(key), high: high.toString(), low: low.toString() }
  const texts = [
    { name: 'a prompt', purpose: prompt, text: writePrompt(promptOfText('Who?')) },
    { name: 'an output', purpose: output, text: 'Blue light is scattered most. \u{1f600}\r\n' },
    { name: 'an empty output', purpose: output, text: '' },
    { name: 'an output that begins with U+FEFF', purpose: output, text: '\ufeffyes' },
  ]
  const blobs = await Promise.all(
    texts.map(async ({ name, purpose, text }) => ({
      ...{ name, purpose, iv: hex(iv), text },
      blob: hex(await sealed(text, purpose)),
    })),
  )
  const good = await sealed('yes', output)
  const last = good.length - 1
  const unreadable = [
    { name: 'another version', purpose: output, blob: hex(good.with(0, 2)) },
    { name: 'a changed byte', purpose: output, blob: hex(good.with(last, (good[last] ?? 0) ^ 1)) },
    { name: 'a byte less', purpose: output, blob: hex(good.slice(0, last)) },
    { name: 'shorter than any', purpose: output, blob: hex(good.slice(0, 28)) },
    { name: 'a prompt as output', purpose: output, blob: hex(await sealed('yes', prompt)) },
    { name: 'text that is not UTF-8', purpose: output, blob: await sealedBytes(fill(0xff, 3)) },
  ]
  return {
    about:
      '`blobs` open under `key` with the additional data of `purpose` to `text`, and `unreadable` do not. The halves of the key are what the coprocessor encrypts. `localInput` is the high half on the local chain: `value` is put into `slot`, and `signature` is for `sender`.',
    halves,
    blobs,
    unreadable,
    localInput: await localInput(high),
  }
}

/** A half as the coprocessor of the local chain has it: what is put into its storage, and what its verifier signs. */
async function localInput(half: bigint): Promise<object> {
  const chainId = 31_337
  const ctHash = BigInt(hex(fill(0xe5)))
  const [name, handle] = ['svc.local.plaintext', ctHash & ~0xffffn] as const
  const slot = encodeAbiParameters([{ type: 'string' }, { type: 'uint256' }], [name, handle])
  const packed = encodePacked(
    ['uint256', 'uint8', 'uint8', 'address', 'uint256'],
    [ctHash, 6, 0, client, BigInt(chainId)],
  )
  const privateKey = MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY.toLowerCase() as Hex
  return {
    ...{ chainId, sender: client, half: `${half}`, ctHash: `${ctHash}`, slot: keccak256(slot) },
    value: numberToHex(half | (1n << 255n), { size: 32 }),
    signature: await sign({ hash: keccak256(packed), privateKey, to: 'hex' }),
  }
}

async function sealedBytes(plain: Uint8Array<ArrayBuffer>): Promise<string> {
  const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt'])
  const additionalData = new TextEncoder().encode(`svc-output-v1:${jobId}`)
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv, additionalData },
    imported,
    plain,
  )
  return hex(Uint8Array.of(1, ...iv, ...new Uint8Array(sealed)))
}
