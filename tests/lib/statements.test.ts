import { describe, expect, it } from 'vitest'
import { attestationDigest } from '../../lib/attestation.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { concatBytes, fromBase64Url, sha256, sha256Hex, utf8 } from '../../lib/digest.ts'
import { TpmEvidence } from '../../lib/schemas/attestation.ts'
import { PlaygroundSettings } from '../../lib/schemas/playground.ts'
import type { Tally } from '../../lib/schemas/receipt.ts'
import type {
  AckStatement,
  AnswerStatement,
  DeliveryStatement,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { signingKeyFromSeed, verifySignature } from '../../lib/session-key.ts'
import {
  commitmentOf,
  type NodeStatement,
  signed,
  statementBytes,
  statementHash,
} from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const key = await signingKeyFromSeed(new Uint8Array(32).fill(1))
const address = nodeAddress('a')
const jobId = aJobId(`0x${'1'.repeat(64)}`)
const evidence = { comparator: 'exact', digest: 'A'.repeat(43), tokens: 1, units: 2 } as const
const hash = aHash(`0x${'2'.repeat(64)}`)
const about = { jobId, address, fence: 2 }
const salt = 'A'.repeat(43)
const answer: AnswerStatement = {
  ...{ statement: 'svc-answer-v3', ...about, position: 1, list: hash, salt, evidence, seen: hash },
  ...{ model_id: 'openai:test', max_output_tokens: 5, ended: 'length' },
}
const delivery: DeliveryStatement = {
  ...{ statement: 'svc-delivery-v2', ...about, answer: hash },
  ...{ output_cid: `bafkrei${'a'.repeat(52)}`, outHighHandle: 3n, outLowHandle: 4n },
}
const verdict: VerdictStatement = {
  ...{ statement: 'svc-verdict-v2', ...about, answer: hash, delivery: hash },
  ...{ verdict: 'no-match', reason: 'different-answer' },
}
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe('a statement', () => {
  it('is canonical JSON of its wire form', async () => {
    const named = `"address":"${address}"`
    const evidenceText = `"evidence":{"comparator":"exact","digest":"${'A'.repeat(43)}","tokens":1,"units":2}`
    const wire: [NodeStatement, string][] = [
      [
        answer,
        `{${named},"ended":"length",${evidenceText},"fence":2,"jobId":"${jobId}","list":"${hash}","max_output_tokens":5,` +
          `"model_id":"openai:test","position":1,"salt":"${salt}","seen":"${hash}","statement":"svc-answer-v3"}`,
      ],
      [
        delivery,
        `{${named},"answer":"${hash}","fence":2,"jobId":"${jobId}","outHighHandle":"3","outLowHandle":"4",` +
          `"output_cid":"${delivery.output_cid}","statement":"svc-delivery-v2"}`,
      ],
      [
        verdict,
        `{${named},"answer":"${hash}","delivery":"${hash}","fence":2,"jobId":"${jobId}",` +
          `"reason":"different-answer","statement":"svc-verdict-v2","verdict":"no-match"}`,
      ],
    ]
    for (const [statement, expected] of wire) {
      expect(text(statementBytes(statement))).toBe(expected)
      expect(await statementHash(statement)).toBe(await sha256Hex(utf8(expected)))
    }
  })

  it('of the ICL is, too', () => {
    const tally: Tally = {
      ...{ statement: 'svc-tally-v3', jobId, record: hash, group: 7, deliverer: address },
      settled_at: 4,
    }
    const ack: AckStatement = {
      ...{ statement: 'svc-ack-v2', ...about, step: 'reveal', body_hash: hash, at: 4 },
    }
    for (const statement of [tally, ack]) {
      expect(text(statementBytes(statement))).toBe(text(canonicalJson(statement)))
    }
  })

  it('is signed by the session key', async () => {
    for (const statement of [answer, delivery, verdict]) {
      const post = await signed(statement, key)
      expect(post).toMatchObject(statement)
      const bytes = statementBytes(statement)
      expect(await verifySignature(key.publicKey, post.signature, bytes)).toBe(true)
    }
  })
})

it('a commitment is to the evidence of one node for one attempt at one job, under a salt', async () => {
  const parts = { jobId, address, fence: 2, evidence, salt }
  const commitment = await commitmentOf(parts)
  expect(commitment).toBe(
    await sha256Hex(
      utf8(
        `{"address":"${address}","evidence":{"comparator":"exact","digest":"${'A'.repeat(43)}","tokens":1,"units":2},` +
          `"fence":2,"jobId":"${jobId}","salt":"${salt}"}`,
      ),
    ),
  )
  const others = [
    { jobId: aJobId(`0x${'2'.repeat(64)}`) },
    { address: nodeAddress('b') },
    { fence: 3 },
    { evidence: { ...evidence, tokens: 2 } },
    { evidence: { ...evidence, units: 3 } },
    { salt: 'AB' },
  ]
  for (const change of others) {
    expect(await commitmentOf({ ...parts, ...change })).not.toBe(commitment)
  }
})

describe('an attestation', () => {
  it('binds its parts in their order, each with its length before it', async () => {
    const binding = {
      origin: 'https://icl.test',
      chainId: 5,
      backend: 'mock',
      address,
      nonce: 'n',
      ...{ activationSecret: new Uint8Array(300).fill(7), sessionPublicKey: key.publicKey },
    } as const
    const parts = [
      ...['svc-attest-v1', 'https://icl.test', '5', 'mock', address, 'n'].map((part) => utf8(part)),
      binding.activationSecret,
      fromBase64Url(key.publicKey),
    ]
    const digest = await sha256(
      concatBytes(
        ...parts.map((part) =>
          concatBytes(Uint8Array.of(Math.floor(part.length / 256), part.length % 256), part),
        ),
      ),
    )
    expect(await attestationDigest(binding)).toEqual(digest)
  })

  it('by a TPM has no more registers than a TPM', () => {
    const withRegisters = (...indices: readonly string[]) =>
      TpmEvidence.safeParse({
        ...{ backend: 'tpm', attest: 'AAAA', signature: 'AAAA' },
        pcrs: Object.fromEntries(indices.map((index) => [index, '0'.repeat(64)])),
      }).success
    expect(withRegisters(...Array.from({ length: 24 }, (_, index) => `${index}`))).toBe(true)
    expect(withRegisters()).toBe(true)
    for (const index of ['24', '01', '-1', 'a', '123']) expect(withRegisters(index)).toBe(false)
  })
})

it('the addresses of a coprocessor are told to the playground with the chain’s, over HTTP alone', () => {
  const read = (setting: unknown) => PlaygroundSettings.safeParse(setting).data
  for (const rpc_url of ['http://127.0.0.1:8545', 'https://rpc.test/key']) {
    expect(read({ rpc_url })).toEqual({ rpc_url })
  }
  for (const rpc_url of ['ws://rpc.test', 'httpx://rpc.test', 'xhttp://rpc.test', 'rpc.test']) {
    expect(read({ rpc_url })).toBeUndefined()
  }
})
