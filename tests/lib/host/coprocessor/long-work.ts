// Starts a proof process on a minute of computing, says which one it is, and waits.
import { inProofProcess } from '../../../../lib/host/coprocessor/proof-child.ts'

const onStart = (pid: number) => void process.stdout.write(`${pid}\n`)
await inProofProcess('makeSampleKeys', null, AbortSignal.timeout(300_000), { onStart })
