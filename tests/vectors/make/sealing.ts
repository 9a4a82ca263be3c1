import { MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY } from '@cofhe/sdk'
import { encodeAbiParameters, encodePacked, type Hex, keccak256, numberToHex } from 'viem'
import { sign } from 'viem/accounts'
import { utf8 } from '../../../lib/digest.ts'
import { promptOfText, writePrompt } from '../../../lib/prompt.ts'
import { joinKey, seal, splitKey } from '../../../lib/sealing.ts'
import { aJobId, anAddress } from '../../branded.ts'
import { fill, hex } from './bytes.ts'

const key = joinKey({ high: 0x000102030405060708090a0b0c0d0e0fn, low: (1n << 128n) - 2n })
const iv = fill(0x0c, 12)
const client = anAddress(`0x${'c1'.repeat(20)}`)
const jobId = aJobId(`0x${'ab'.repeat(32)}`)
const prompt = `svc-envelope-v1:${client}`
const output = `svc-sealed-output-v2:${jobId}`

const sealed = async (text: string, label: string) =>
  await seal(utf8(text), key, label, { bytes: (length) => iv.slice(0, length) })

/** Sealed prompts and outputs, and blobs that must not open. */
export async function sealingVectors(): Promise<object> {
  const { high, low } = splitKey(key)
  const halves = { key: hex(key), high: high.toString(), low: low.toString() }
  const texts = [
    { name: 'a prompt', label: prompt, text: writePrompt(promptOfText('Who?')) },
    { name: 'an output', label: output, text: 'Blue light is scattered most. \u{1f600}\r\n' },
    { name: 'an empty output', label: output, text: '' },
    { name: 'an output that begins with U+FEFF', label: output, text: '\ufeffyes' },
  ]
  const blobs = await Promise.all(
    texts.map(async ({ name, label, text }) => ({
      ...{ name, label, iv: hex(iv), text },
      blob: hex(await sealed(text, label)),
    })),
  )
  const good = await sealed('yes', output)
  const last = good.length - 1
  const unreadable = [
    { name: 'another version', label: output, blob: hex(good.with(0, 2)) },
    { name: 'a changed byte', label: output, blob: hex(good.with(last, (good[last] ?? 0) ^ 1)) },
    { name: 'a byte less', label: output, blob: hex(good.slice(0, last)) },
    { name: 'shorter than any', label: output, blob: hex(good.slice(0, 28)) },
    { name: 'a prompt as output', label: output, blob: hex(await sealed('yes', prompt)) },
  ]
  return {
    about:
      '`blobs` open under `key` with the additional data `label` to `text`, and `unreadable` do not. The halves of the key are what the coprocessor encrypts. `localInput` is the high half on the local chain: `value` is put into `slot`, and `signature` is for `sender`.',
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
