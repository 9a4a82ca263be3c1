import { hexToBytes, keccak256, stringToHex } from 'viem'
import { verifyMessage } from 'viem/utils'
import { createApi } from '../../lib/api.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { systemRandom } from '../../lib/system.ts'
import { createSoftwareTpm } from '../icl/attestation/software-tpm.ts'
import { tpmNode, trustIn } from '../icl/attestation/tpm-node.ts'
import { createVendor } from '../icl/attestation/tpm-vendor.ts'
import { activeNode } from '../icl/fake-chain.ts'
import { attestationOf, createTestIcl, origin, type TestIcl, walletOf } from '../icl/test-icl.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { median, ratio } from './table.ts'

/** The same ICL, with the milliseconds that it takes to answer each attestation. */
function timed(icl: TestIcl): { readonly icl: TestIcl; readonly took: number[] } {
  const took: number[] = []
  const fetch = async (request: Request) => {
    const isAttestation = new URL(request.url).pathname.endsWith('/attestation/verify')
    const startedAt = performance.now()
    const response = await icl.fetch(request)
    if (isAttestation) took.push(performance.now() - startedAt)
    return response
  }
  const api = (signer?: RequestSigner) =>
    createApi({
      baseUrl: origin,
      fetch,
      clock: icl.clock,
      random: systemRandom,
      ...(signer && { signer }),
    })
  return { icl: { ...icl, api }, took }
}

async function attestByMock(
  { icl, took }: ReturnType<typeof timed>,
  count: number,
): Promise<readonly number[]> {
  const { address, signer } = walletOf('mock')
  icl.chain.nodes.set(address, activeNode)
  const key = await signingKeyFromSeed(hexToBytes(keccak256(stringToHex('session mock'))))
  const api = icl.api(signer)
  for (let index = 0; index < count; index++) {
    const { nonce } = await api.getChallenge({ params: { address } })
    const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
    await api.verifyAttestation({ body: await attestationOf('mock', nonce, key, notAfter) })
  }
  return took.splice(0)
}

async function attestByTpm(
  { icl, took }: ReturnType<typeof timed>,
  node: ReturnType<typeof tpmNode>,
  count: number,
): Promise<readonly number[]> {
  icl.chain.nodes.set(node.address, activeNode)
  for (let index = 0; index < count; index++) await node.renew()
  return took.splice(0)
}

/** What every attestation has in it twice: a wallet's signature, recovered. */
async function recoverWallet(count: number): Promise<readonly number[]> {
  const { account, address } = walletOf('baseline')
  const signature = await account.signMessage({ message: 'baseline' })
  const took: number[] = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    if (!(await verifyMessage({ address, message: 'baseline', signature })))
      throw new Error('not signed')
    took.push(performance.now() - startedAt)
  }
  return took
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const { rounds, count } = byForm(form, {
    tiny: { rounds: 1, count: 1 },
    short: { rounds: 5, count: 40 },
    long: { rounds: 10, count: 500 },
  })
  const vendor = await createVendor(Date.now())
  const icl = await createTestIcl({ tpm: trustIn(vendor) })
  try {
    const own = timed(icl)
    const node = tpmNode(own.icl, 'tpm', await createSoftwareTpm(vendor, icl.clock.now()))
    icl.chain.nodes.set(node.address, activeNode)
    await node.join()
    own.took.length = 0
    const all = { mock: [] as number[], tpm: [] as number[], wallet: [] as number[] }
    for (let round = form === 'tiny' ? 1 : 0; round <= rounds; round++) {
      say(`round ${round} of ${rounds}`)
      const [mock, tpm, wallet] = [
        await attestByMock(own, count),
        await attestByTpm(own, node, count),
        await recoverWallet(count),
      ]
      if (round === 0) continue
      all.mock.push(...mock)
      all.tpm.push(...tpm)
      all.wallet.push(...wallet)
    }
    return findingsOf(all)
  } finally {
    await icl.stop()
  }
}

function findingsOf(all: Readonly<Record<'mock' | 'tpm' | 'wallet', readonly number[]>>): Findings {
  const wallet = median(all.wallet)
  const row = (name: string, numbers: readonly number[]) => {
    const ms = median(numbers)
    return [name, `${ms.toFixed(2)} ms`, (1000 / ms).toFixed(0), ratio(ms, wallet)]
  }
  return {
    method:
      'One after the other on one thread, in this process, store and chain in memory: the whole request with its wallet signature, the session grant, the evidence and the certificate that answers it. The TPM is made in software and was enrolled before. Beside it a bare wallet signature, of which each attestation recovers two.',
    tables: [
      {
        title: 'Attestations',
        rows: [
          ['', 'median', 'a second', 'to a wallet signature'],
          row('mock', all.mock),
          row('TPM quote', all.tpm),
          row('one wallet signature', all.wallet),
        ],
      },
    ],
    figures: {
      attest_mock_per_second: 1000 / median(all.mock),
      attest_tpm_per_second: 1000 / median(all.tpm),
      attest_wallet_signatures_per_second: 1000 / wallet,
    },
    goals: [],
    plots: [],
    skipped: [],
  }
}

export const attest: Benchmark = { title: 'Attestation', run }
