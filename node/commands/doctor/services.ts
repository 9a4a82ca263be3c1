import { withDeadline } from '../../../lib/deadline.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { checkCoprocessor as checkCoprocessorAt } from '../../../lib/host/check-coprocessor.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { failed, ok, skipped } from '../../../lib/host/checks.ts'
import { AnswerRefused, ask } from '../../../lib/outgoing.ts'
import type { Network } from '../../../lib/schemas/network.ts'
import type { Config } from '../../config.ts'
import type { CommandContext } from '../context.ts'

const attemptMs = 15_000
const maxInlineBytes = 4_096
// The CID contains the block "hello" itself, so no gateway has to search for it.
const inlineCid = 'bafkqabtimvwgy3yk'
const inlineText = 'hello\n'
/** Checks that the coprocessor of the ICL's chain responds. */
export async function checkCoprocessor(
  { cofhe_endpoint: rpcUrl, cofhe_urls: urls }: Pick<Config, 'cofhe_endpoint' | 'cofhe_urls'>,
  network: Network | undefined,
  context: CommandContext,
): Promise<Check> {
  if (network === undefined) return skipped('coprocessor', 'needs the ICL, which names the chain')
  const remedy = "Do not run the node. Tell the ICL's operator."
  return checkCoprocessorAt({ rpcUrl, chainId: network.chain_id, urls }, context, remedy)
}

/** Checks that a gateway responds to requests for blobs. */
export async function checkGateway(url: string, { fetch, clock }: CommandContext): Promise<Check> {
  const { host } = new URL(url)
  const name = 'gateway'
  const late = () => new Error(`no answer within ${attemptMs / 1000} s`)
  const remedy = 'Check ipfs_gateway (SVC_IPFS_GATEWAY), or use another gateway.'
  try {
    const { status, bytes } = await withDeadline(clock, attemptMs, undefined, late, (signal) =>
      ask(fetch, `${url}/ipfs/${inlineCid}`, { signal, maxBytes: maxInlineBytes }),
    )
    if (status === 401 || status === 403) {
      return failed(name, `${host} refuses requests (status ${status})`, remedy)
    }
    if (status === 429 || status >= 500) {
      return failed(name, `${host} returns status ${status}`, remedy, true)
    }
    if (status === 200 && new TextDecoder().decode(bytes) !== inlineText) {
      const why = `${host} returns something else than was asked for`
      return failed(name, why, `${remedy} A proxy or a login page may answer in its place.`)
    }
    // A gateway need not serve inline blocks. An error that says so is a response, too.
    const doubt = status === 404 ? ', but with status 404: check that it is a gateway' : ''
    return ok(name, `${host} responds${doubt}`)
  } catch (error) {
    const why = errorMessage(error)
    if (error instanceof AnswerRefused) return failed(name, `${host} ${why}`, remedy)
    const network = 'Check ipfs_gateway (SVC_IPFS_GATEWAY) and the network, or use another gateway.'
    return failed(name, `${host} cannot be reached: ${why}`, network, true)
  }
}
