import { MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY } from '@cofhe/sdk'
import { bytesToHex, encodePacked, type Hex, keccak256, serializeSignature } from 'viem'
import { sign } from 'viem/accounts'
import type { Dice } from '../../simulation/dice.ts'
import { chainId } from './fuzz-chain.ts'
import type { Input } from './key-store-model.ts'

const verifierKey = MOCKS_ZK_VERIFIER_SIGNER_PRIVATE_KEY.toLowerCase() as Hex

/** An encrypted half, signed as the coprocessor's verifier does. */
const signedInput = async (
  ctHash: bigint,
  utype: number,
  securityZone: number,
  signedFor: Hex,
): Promise<Input> => {
  const packed = encodePacked(
    ['uint256', 'uint8', 'uint8', 'address', 'uint256'],
    [ctHash, utype, securityZone, signedFor, BigInt(chainId)],
  )
  const hash = keccak256(packed)
  const signature = serializeSignature(await sign({ hash, privateKey: verifierKey }))
  return { ctHash, utype, securityZone, signature, signedFor }
}

/** An input as a contract takes it. */
export const encoded = ({ signedFor: _, ...input }: Input) => input

/** Encrypted halves for random callers: mostly fresh ones of their own, also those of others, used ones and forged ones. */
export const createInputs = (dice: Dice, actor: () => Hex) => {
  const seen: Input[] = []
  const inputs: Input[] = []
  /** Made ahead, because signing takes its time. */
  const prepare = async (count: number) => {
    while (inputs.length < count) {
      const zone = dice.chance(0.1) ? dice.between(1, 3) : 0
      const utype = dice.chance(0.04) ? dice.pick([0, 5, 7]) : 6
      inputs.push(await signedInput(BigInt(bytesToHex(dice.bytes(32))), utype, zone, actor()))
    }
  }
  const inputFor = (from: Hex): Input => {
    if (dice.chance(0.06) && seen.length > 0) return dice.pick(seen)
    const index = inputs.findIndex(({ signedFor }) => signedFor === from)
    const input = index === -1 ? dice.pick(inputs) : inputs.splice(index, 1)[0]!
    seen.push(input)
    if (seen.length > 200) seen.shift()
    if (!dice.chance(0.04)) return input
    const ctHash = input.ctHash ^ (1n << BigInt(dice.between(16, 255)))
    return { ...input, ctHash, signedFor: undefined }
  }
  return { prepare, inputFor }
}
