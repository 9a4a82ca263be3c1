import type { DocBlock } from './doc-blocks.ts'

/** True for the commands of a client, which tests/examples/example-tests.ts runs as they stand. */
export const runHere = ({ language, text }: DocBlock): boolean =>
  language === 'sh' && /^(echo .* \| )?npm run (--silent )?infer /.test(text)
