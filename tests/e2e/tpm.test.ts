import { describeTpmNodes } from './tpm-story.ts'

describeTpmNodes('nodes with TPMs', async () => undefined)
