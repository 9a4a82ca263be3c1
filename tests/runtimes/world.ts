import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalAccount, toHex } from 'viem'
import { writeContract } from 'viem/actions'
import { fundWallet } from '../../demo/fund-wallet.ts'
import { type IclProcess, startIcl } from '../../demo/icl-process.ts'
import { type LocalChain, stake, startLocalChain } from '../../demo/local-chain.ts'
import { createProcesses } from '../../demo/processes.ts'
import type { DemoRuntime } from '../../demo/runtime-programs.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { type Api, createApi } from '../../lib/api.ts'
import { type ChainWriter, createChainWriter } from '../../lib/chain/clients.ts'
import { waitForReceipt } from '../../lib/chain/wait-for-receipt.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { createVendor } from '../icl/attestation/tpm-vendor.ts'
import { createFakeChain } from '../icl/fake-chain.ts'
import { type Outside, origin, walletOf } from '../icl/test-icl.ts'
import { withoutLimits } from '../sample-settings.ts'
import { whole } from '../whole.ts'

const gas = 10n ** 18n
const mockAttestationKey = toHex(new Uint8Array(16).fill(7)).slice(2)

/** The origin whose pages may call the ICLs. */
export const pageOrigin = 'https://app.example'

/** Nodes that are registered on the chain: three for quorums, one for what else a node does. */
export const nodeNames = ['runtimes 1', 'runtimes 2', 'runtimes 3'] as const
export const tpmNodeName = 'runtimes with a TPM'

/** One real chain with the contracts and registered nodes, for ICLs on whatever runtime. */
export type RuntimesWorld = Awaited<ReturnType<typeof startRuntimesWorld>>

type WriterOf = (account: LocalAccount) => ChainWriter

/** Starts the chain and registers the nodes. */
export async function startRuntimesWorld() {
  return whole(async (stops) => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-runtimes-'))
    stops.push(() => rm(folder, { recursive: true, force: true }))
    const chain = await startLocalChain()
    stops.push(chain.stop)
    const processes = createProcesses(folder)
    stops.push(processes.close)
    const writers = new Map<string, ChainWriter>()
    const writerOf: WriterOf = (account) => {
      const known = writers.get(account.address) ?? createChainWriter({ ...chain, account })
      writers.set(account.address, known)
      return known
    }
    for (const name of [...nodeNames, tpmNodeName]) await register(chain, writerOf, name)
    const vendor = await createVendor(Date.now())
    const roots = join(folder, 'tpm-roots.pem')
    await writeFile(roots, vendor.root.certificate.toString('pem'))
    return {
      chain,
      vendor,
      /** Sends from an account; one for each account, because nonces are counted in it. */
      writerOf,
      processes,
      /** Starts an ICL again that has ended, and asks it nothing. */
      startAgain: ({ process: { name }, command }: IclProcess) =>
        processes.start({ name, ...command }),
      /** Starts an ICL; every one of them answers as the same public address. */
      start: (
        runtime: DemoRuntime,
        env: Readonly<Record<string, string>> = {},
        name = `icl-${runtime}`,
      ) =>
        startIcl({
          processes,
          folder,
          chain,
          mockAttestationKey,
          runtime,
          name,
          env: {
            SVC_ICL_PUBLIC_URL: origin,
            SVC_ICL_DATABASE_URL: 'memory:',
            SVC_ICL_TPM_ROOTS: roots,
            SVC_ICL_DEFAULT_COMPARATOR: 'exact',
            SVC_ICL_ALLOW_ORIGINS: pageOrigin,
            // One caller does everything here.
            ...withoutLimits,
            ...env,
          },
        }),
    }
  })
}

async function register(chain: LocalChain, writerOf: WriterOf, name: string): Promise<void> {
  const { account } = walletOf(name)
  await fundWallet(writerOf(chain.funder), account.address, stake + gas)
  const writer = writerOf(account)
  const registered = await writeContract(writer.walletClient, {
    address: chain.contracts.nodeRegistry,
    abi: nodeRegistryAbi,
    functionName: 'register',
    args: [[0]],
    value: stake,
  })
  const { status } = await waitForReceipt(writer, registered)
  if (status !== 'success') throw new Error(`${name} cannot register`)
}

/** Which ICL a request goes to; requests are signed for the public address that all have. */
export type Route = (request: Request) => string

/** What nodes and clients have of ICLs in processes of their own: each request goes where the route says. */
export function outsideOf(route: Route): Outside {
  const send = (request: Request) => {
    const { pathname, search } = new URL(request.url)
    return fetch(new Request(route(request) + pathname + search, request))
  }
  const api = (signer?: RequestSigner): Api =>
    createApi({
      baseUrl: origin,
      fetch: send,
      clock: systemClock,
      random: systemRandom,
      ...(signer && { signer }),
    })
  // The chain is the real one: what is noted on this one, nobody reads.
  return { api, clock: systemClock, chain: createFakeChain() } as unknown as Outside
}
