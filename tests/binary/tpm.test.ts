import { describeTpmNodes } from '../e2e/tpm-story.ts'
import { builtBinary } from './executable.ts'

describeTpmNodes('executables on machines with TPMs', builtBinary)
