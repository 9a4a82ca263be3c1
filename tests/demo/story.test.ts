import { describe, expect, it } from 'vitest'
import { createStory } from '../../demo/story.ts'

const tell = (isTTY: boolean) => {
  let written = ''
  let now = 0
  const output = { write: (text: string) => (written += text), isTTY, columns: 80 }
  const story = createStory(output, () => now)
  return { story, pass: (ms: number) => (now += ms), written: () => written }
}

describe('the story', () => {
  it('is one plain line per step without a terminal', async () => {
    const { story, pass, written } = tell(false)
    await story.step('Deploying', async (progress) => {
      progress('2 of 3')
      pass(1_234)
    })
    expect(written()).toMatch(/^ {2}✓ Deploying +1\.2 s\n$/)
  })

  it('rewrites the line of a running step on a terminal', async () => {
    const { story, pass, written } = tell(true)
    await story.step('Deploying', async (progress) => {
      progress('2 of 3')
      pass(1_000)
      await new Promise((resolve) => setTimeout(resolve, 150))
    })
    expect(written()).toContain('… Deploying: 2 of 3')
    expect(written().split('\n').length).toBe(2)
    for (const line of written().split('\r')) expect(line.length).toBeLessThan(86)
  })

  it('marks a step that failed', async () => {
    const { story, written } = tell(false)
    const failing = story.step('Deploying', async () => {
      throw new Error('no gas')
    })
    await expect(failing).rejects.toThrow('no gas')
    expect(written()).toContain('✗ Deploying')
  })
})
