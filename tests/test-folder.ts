import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

const newFolder = (whenDone: (remove: () => void) => void): string => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  whenDone(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** An empty folder, which is gone after the tests of the file. */
export const fileFolder = (): string => newFolder(afterAll)

/** An empty folder, which is gone after the test that runs. */
export const testFolder = (): string => newFolder(onTestFinished)
