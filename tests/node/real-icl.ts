import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { TpmTrust } from '../../icl/attestation/tpm-trust.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { createApi } from '../../lib/api.ts'
import type { Address } from '../../lib/codecs.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import { promptOfText, writePrompt } from '../../lib/prompt.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { sealPromptText } from '../../lib/sealing/envelope.ts'
import { splitKey } from '../../lib/sealing.ts'
import { systemRandom } from '../../lib/system.ts'
import { coordinator, createFakeChain } from '../icl/fake-chain.ts'
import { createReplica, modelId, walletOf } from '../icl/test-icl.ts'
import { listKey } from '../listed-key.ts'
import { listenHere } from '../local-server.ts'
import { sampleNetwork } from '../sample-network.ts'
import { createVirtualClock, holdTime } from '../virtual-clock.ts'
import { fakeCoprocessor } from './fakes.ts'

/** The real ICL behind a real port, on a virtual clock that no request on its way is overtaken by. */
export type RealIcl = Awaited<ReturnType<typeof startRealIcl>>

const callHeader = 'x-test-call'

/** Starts it; `mock` false makes an ICL that takes no mock attestation, `tpm` one that takes these TPMs. */
export async function startRealIcl({
  mock = true,
  tpm,
  startMs,
}: {
  readonly mock?: boolean
  readonly tpm?: TpmTrust
  readonly startMs?: number
} = {}) {
  const onTheWay = new Map<string, () => void>()
  const arrived = (call: string) => {
    onTheWay.get(call)?.()
  }
  const leaves = (call: string) => {
    if (onTheWay.has(call)) onTheWay.set(call, holdTime())
  }
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy())
  })
  const { url, close } = await listenHere(server)
  const chainId = 31_337
  const place = {
    clock: createVirtualClock(startMs),
    chain: createFakeChain(),
    store: createMemoryStore(),
  }
  const icl = await createReplica(place, {
    network: sampleNetwork({ public_url: url, chain_id: chainId, coordinator }),
    ...(!mock && { mockAttestationKey: undefined }),
    tpm,
  })
  const { clock, chain } = icl

  async function serve(request: IncomingMessage, response: ServerResponse) {
    const body = await buffer(request)
    const { method = 'GET', url: path = '', headers } = request
    const call = String(headers[callHeader])
    arrived(call)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const answer = await icl.fetch(
      new Request(`${url}${path}`, {
        method,
        headers: headers as Record<string, string>,
        signal: gone.signal,
        ...(body.length > 0 && { body }),
      }),
    )
    const bytes = Buffer.from(await answer.arrayBuffer())
    leaves(call)
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(bytes)
  }

  let calls = 0
  /** Real HTTP; while a request or its answer travels, time stands still. */
  const travel: Fetch = async (request) => {
    const call = String(++calls)
    onTheWay.set(call, holdTime())
    try {
      const headers = new Headers(request.headers)
      headers.set(callHeader, call)
      const answer = await fetch(new Request(request, { headers }))
      return new Response(await answer.arrayBuffer(), answer)
    } finally {
      onTheWay.get(call)?.()
      onTheWay.delete(call)
    }
  }

  const coprocessor = fakeCoprocessor()
  const shared = { baseUrl: url, fetch: travel, clock, random: systemRandom }
  return {
    ...icl,
    url,
    chainId,
    coprocessor,
    travel,
    /** Asks the ICL without a signature. */
    client: createApi(shared),
    /** Submits a prompt for a quorum; `prepare` gets it before anything is offered. */
    async ask(
      prompt: string,
      prepare: (leader: Address, verifiers: readonly Address[]) => void = () => {},
    ) {
      const client = walletOf('client')
      const api = createApi({ ...shared, signer: client.signer })
      return await clock.until(
        (async () => {
          const key = systemRandom.bytes(32)
          const halves = splitKey(key)
          const high = coprocessor.store(halves.high)
          const low = coprocessor.store(halves.low)
          const at = Math.floor(clock.now() / 1000)
          const listed = await listKey(api, {
            ...{ origin: url, modelId },
            // Waits for its turn.
            calls: {},
            storeKey: async (terms) => ({
              ...{ highHandle: high, lowHandle: low },
              blockNumber: chain.storeKey(high, low, client.address, terms, at),
            }),
          })
          const blob = await sealPromptText(
            {
              ...{ text: writePrompt(promptOfText(prompt)), key, grants: listed.reading },
              secret: systemRandom.bytes(32),
              of: {
                ...{ chainId, store: icl.deps.network.contracts.prompt_key_store },
                ...{ client: client.address, highHandle: high, lowHandle: low },
                list: listed.list.body.list,
              },
            },
            systemRandom,
          )
          const query = {
            kpHighHandle: high,
            kpLowHandle: low,
            block_number: listed.list.body.block.number,
          }
          const { cid } = await api.putBlob({ query, body: blob })
          const [leader, ...verifiers] = listed.first
          if (leader === undefined) throw new TypeError('nobody is seated first')
          prepare(leader, verifiers)
          const until = at + 1_200
          const { coordinator: activator, list } = listed.list.body
          const identity = { chainId, client: client.address, promptCid: cid, clientNonce: high }
          const ownJobId = jobIdOf({ ...identity, kpHighHandle: high, kpLowHandle: low })
          const commitment = listCommitment({ jobId: ownJobId, activator, until, list })
          chain.commitList(high, low, commitment, listed.first)
          const submitted = await api.submitJob({
            body: {
              model_id: modelId,
              prompt_cid: cid,
              kpHighHandle: high,
              kpLowHandle: low,
              ...{ list: listed.list, until },
              client_nonce: high,
            },
          })
          const { jobId } = submitted
          const view = (): Promise<JobView> =>
            api.getJob({ params: { jobId } }, { readToken: submitted.read_token })
          const receipt = () =>
            api.getReceipt({ params: { jobId } }, { readToken: submitted.read_token })
          return { jobId, high, low, view, receipt, leader, verifiers }
        })(),
      )
    },
    stop: async () => {
      await icl.stop()
      await close()
    },
  }
}

/** The mock attestation key of the test ICL. */
export const mockKeyHex = Buffer.from(new Uint8Array(16).fill(7)).toString('hex')
