import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plantedBugs } from './all.ts'
import { catchBug } from './catch-bug.ts'
import { copyProject, type ProjectCopy, root } from './copy-project.ts'
import { plant } from './planted-bug.ts'

describe('every planted bug', () => {
  it('has a place in its file, and one only', async () => {
    for (const bug of plantedBugs) {
      const whole = await readFile(join(root, bug.file), 'utf8')
      expect(plant(bug, whole), bug.name).not.toBe(whole)
    }
  })

  it('has a name of its own', () => {
    expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length)
  })

  it('names tests that there are', async () => {
    for (const file of new Set(plantedBugs.flatMap(({ tests }) => tests))) {
      expect(await readFile(join(root, file), 'utf8'), file).toContain('import ')
    }
  })
})

it('a place that is not there, or there twice, is refused', () => {
  const bug = { name: 'none', what: '', file: 'a.ts', find: 'b', replace: 'c', tests: [] }
  expect(() => plant(bug, 'a')).toThrow('a.ts has 0 places')
  expect(() => plant(bug, 'b b')).toThrow('a.ts has 2 places')
})

// The others are planted by `npm run planted`.
const quick = ['one-match-is-enough', 'commitment-not-opened']

describe('of the planted bugs', () => {
  let copy: ProjectCopy
  beforeAll(async () => {
    copy = await copyProject()
  })
  afterAll(() => copy.remove())

  it.each(quick)('%s is found', async (name) => {
    const bug = plantedBugs.find((one) => one.name === name)
    if (!bug) throw new Error(`There is no planted bug ${name}`)
    const { caughtBy, trouble } = await catchBug(copy, bug)
    expect({ trouble, file: caughtBy?.file }).toEqual({ trouble: undefined, file: bug.tests[0] })
  })

  it('one that changes nothing is not found', async () => {
    const [bug] = plantedBugs
    if (!bug) throw new Error('There is no planted bug')
    const { caughtBy, trouble } = await catchBug(copy, { ...bug, replace: bug.find })
    expect({ caughtBy, trouble }).toEqual({ caughtBy: undefined, trouble: undefined })
  })

  it('one that cannot be read as TypeScript counts as not found', async () => {
    const [bug] = plantedBugs
    if (!bug) throw new Error('There is no planted bug')
    const { caughtBy, trouble } = await catchBug(copy, { ...bug, replace: 'if (' })
    expect(caughtBy).toBeUndefined()
    expect(trouble).toContain('exit 1')
  })
})
