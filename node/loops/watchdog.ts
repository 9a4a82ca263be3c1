import type { Certificate } from '../attestation/certificate.ts'

/** How often the node checks its certificate (spec 8). */
export const watchdogPeriodMs = 10 * 60_000

const renewBelowSeconds = 6 * 3_600

/** One pass: attests again when the certificate expires within 6 h (spec 3.1). The certificate logs its own failures. */
export async function watchCertificate(certificate: Certificate): Promise<void> {
  const seconds = certificate.secondsLeft()
  if (seconds >= renewBelowSeconds) return
  const why =
    seconds === 0 ? 'there is no valid certificate' : `the certificate expires in ${seconds} s`
  await certificate.renew(why).catch(() => {})
}
