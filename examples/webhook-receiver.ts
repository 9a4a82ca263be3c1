// Takes an ICL's messages about settled jobs, and believes only those that were signed with the secret of the job's submission.

import { Webhook } from 'standardwebhooks'

type Settled = { readonly data: { readonly jobId: string; readonly status: string } }

/** Answers one request; the ICL sends a message again until the status is 2xx. */
export async function receive(request: Request, webhookSecret: string): Promise<Response> {
  const body = await request.text()
  const headers = Object.fromEntries(request.headers)
  let message: Settled
  try {
    message = new Webhook(webhookSecret).verify(body, headers) as Settled
  } catch {
    return new Response('The signature is wrong, or too old', { status: 401 })
  }
  // The same message may come twice: it then has the same webhook-id.
  console.log(headers['webhook-id'], message.data.jobId, message.data.status)
  return new Response(null, { status: 204 })
}
