import { hexToBytes, keccak256, stringToHex } from 'viem'
import { toBase64Url, utf8 } from '../../lib/digest.ts'
import { findLeaks, type Secret } from '../e2e/leak-search.ts'
import { mockKey } from '../icl/test-icl.ts'
import type { Dice } from '../simulation/dice.ts'

/** Secrets that are put where they belong, and must show nowhere else. */
export type Planted = {
  readonly metricsToken: string
  /** Something that callers send where it is not asked for. */
  readonly canary: string
  /** Notes one more, such as the read token of a new job. */
  add(name: string, value: string): void
  /** Where which of them shows in a text that should have none. */
  find(place: string, text: string): readonly string[]
  /** A sample of what was planted, for the search to prove itself with. */
  readonly control: string
}

const textSecret = (name: string, value: string): Secret => ({ name, bytes: utf8(value) })
const wallet = (name: string): Secret => ({
  name: `wallet key of ${name}`,
  bytes: hexToBytes(keccak256(stringToHex(name))),
})

const newestTokens = 200

/** Plants an operator's token, a caller's password, the ICL's own secrets and the keys of those who deal with it. */
export function createPlanted(dice: Dice): Planted {
  const metricsToken = `metrics-${toBase64Url(dice.bytes(24))}`
  const canary = `password-${toBase64Url(dice.bytes(24))}`
  const fixed: readonly Secret[] = [
    textSecret('metrics token', metricsToken),
    textSecret('password of a caller', canary),
    { name: 'mock attestation key', bytes: mockKey },
    { name: 'secret of the ICL', bytes: new Uint8Array(32).fill(1) },
    ...['node 0', 'node 1', 'client 0', 'newcomer 0'].map(wallet),
    ...['node 0', 'node 1'].map((name) => ({
      name: `session key of ${name}`,
      bytes: hexToBytes(keccak256(stringToHex(`session ${name}`))),
    })),
  ]
  const tokens: Secret[] = []
  return {
    metricsToken,
    canary,
    control: canary,
    add: (name, value) => {
      tokens.push(textSecret(name, value))
      if (tokens.length > newestTokens) tokens.shift()
    },
    find: (place, text) => findLeaks([{ name: place, bytes: utf8(text) }], [...fixed, ...tokens]),
  }
}
