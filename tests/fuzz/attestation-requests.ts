import { attestationOf, sessionKeyOf, walletOf } from '../icl/test-icl.ts'
import type { Requests } from './request-makers.ts'
import { remember } from './world.ts'

/** Sound requests for attestation, by an HMAC and by a TPM. */
export const attestationRequests: Requests = {
  getChallenge: async ({ dice, newcomers, tpmNodes, model }, operation) => {
    const address = dice.chance(0.5)
      ? walletOf(dice.pick(newcomers)).address
      : dice.pick(tpmNodes).address
    const learn = ({ nonce }: { nonce: string }) =>
      remember(model.challenges, { address, nonce }, 12)
    return { operation, params: { address }, query: {}, learn }
  },
  enrollTpm: async ({ dice, tpmNodes, model }, operation) => {
    const node = dice.pick(tpmNodes)
    const at = model.challenges.findIndex(({ address }) => address === node.address)
    const [challenge] = at < 0 ? [] : model.challenges.splice(at, 1)
    if (!challenge) return undefined
    const learn = async (answer: {
      nonce: string
      credential_blob: string
      encrypted_secret: string
    }) => {
      const secret = await node.tpm.activate(answer)
      remember(model.enrollments, { node, nonce: answer.nonce, secret }, 6)
    }
    const body = node.enrollmentBody(challenge.nonce)
    return { operation, params: {}, query: {}, body, sender: walletOf(node.name).signer, learn }
  },
  verifyAttestation: async ({ icl, dice, newcomers, model }, operation) => {
    const enrolled = dice.chance(0.5) ? model.enrollments.pop() : undefined
    if (enrolled) {
      const { node, nonce, secret } = enrolled
      const body = await node.request(nonce, secret)
      return { operation, params: {}, query: {}, body, sender: walletOf(node.name).signer }
    }
    const name = dice.pick(newcomers)
    const { address, signer } = walletOf(name)
    const at = model.challenges.findIndex((challenge) => challenge.address === address)
    const [challenge] = at < 0 ? [] : model.challenges.splice(at, 1)
    if (!challenge) return undefined
    const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
    const key = await sessionKeyOf(name)
    const body = await attestationOf(name, challenge.nonce, key, notAfter)
    return { operation, params: {}, query: {}, body, sender: signer }
  },
  releaseTpm: async ({ dice, tpmNodes }, operation) => {
    const { name, address } = dice.pick(tpmNodes)
    const body = { operator_address: address }
    return { operation, params: {}, query: {}, body, sender: walletOf(name).signer }
  },
}
