import { mockKeyHeader } from '../../lib/development.ts'
import { AttestationRequest } from '../../lib/schemas/attestation.ts'
import { sealRequestKey } from '../../lib/sealing/request-key.ts'
import { thumbprintOf } from '../../lib/session-key.ts'
import { systemRandom } from '../../lib/system.ts'
import { answerJson, type LocalServer, type Seen, startServer } from '../local-server.ts'
import { sampleNetwork } from '../sample-network.ts'

const _address = `0x${'dd'.repeat(20)}`

/** What the stub answers; a test changes it between calls. */
export type StubAnswers = {
  /** Undefined: the address that the stub listens at. */
  publicUrl?: string
  /** 31337 when left out. */
  chainId?: number
  /** Handed to nodes, as an ICL for development does. */
  mockKey?: string
  verify: { readonly status: number; readonly body: unknown }
}

const problem = (status: number, code: string, title: string, retryable = false) => ({
  status,
  body: { type: `urn:svc:problem:${code}`, title, status, code, retryable },
})

/** Refuses the evidence, as an ICL with another mock key does. */
export const hmacInvalid = problem(403, 'attestation-hmac-invalid', 'The HMAC does not fit')
/** Cannot serve now. */
export const unavailable = problem(503, 'unavailable', 'The ICL cannot serve this now', true)

/** An ICL that knows nothing but how to attest a node and to hear its heartbeats. */
export async function startStubIcl(): Promise<LocalServer & { readonly answers: StubAnswers }> {
  const expiresAt = () => Math.floor(performance.timeOrigin / 1000) + 86_400
  const answers: StubAnswers = {
    verify: {
      status: 200,
      body: { certificate: 'stub.certificate.jws', certificate_expires_at: expiresAt() },
    },
  }
  const server = await startServer(async (response, request) => {
    if (request.path.startsWith('/internal/assignments/')) {
      // Held like a long-poll without work.
      setTimeout(() => answerJson(response, 200, { assignments: [] }), 1_000)
      return
    }
    const { status, body } = answerTo(request, answers, server.url, expiresAt())
    const key = status === 200 && request.path === '/internal/attestation/verify'
    const url = answers.publicUrl ?? server.url
    answerJson(response, status, key ? { ...Object(body), ...(await keyFor(request, url)) } : body)
  })
  return { ...server, answers }
}

function answerTo({ path, headers }: Seen, answers: StubAnswers, url: string, expiresAt: number) {
  if (path === '/v1/network') {
    return { status: 200, body: network(answers.publicUrl ?? url, answers.chainId) }
  }
  if (path.startsWith('/internal/challenge/')) {
    return { status: 200, body: { nonce: 'c3R1Yg', expires_at: expiresAt, enrolled: false } }
  }
  if (path === '/internal/attestation/verify') return answers.verify
  if (path === '/internal/attestation/mock-key' && answers.mockKey && headers[mockKeyHeader]) {
    return { status: 200, body: { key: answers.mockKey } }
  }
  if (path === '/internal/heartbeat') {
    const body = { status: 'ok', certificate_expires_at: expiresAt, eligible: true, reasons: [] }
    return { status: 200, body }
  }
  return problem(404, 'not-found', 'There is nothing at this address')
}

const network = (publicUrl: string, chainId = 31_337) =>
  sampleNetwork({
    public_url: publicUrl,
    chain_id: chainId,
    limits: { ...sampleNetwork().limits, poll_seconds: 7 },
  })

/** A request key for the session that attests. */
async function keyFor({ body }: Seen, origin: string) {
  const request = AttestationRequest.parse(JSON.parse(body))
  const thumbprint = await thumbprintOf(request.session_public_key)
  const { chain_id: chainId } = sampleNetwork()
  const session = { origin, chainId, address: request.operator_address, thumbprint }
  const requestKey = new Uint8Array(32)
  return {
    request_key: await sealRequestKey(requestKey, request.reading.key, session, systemRandom),
  }
}
