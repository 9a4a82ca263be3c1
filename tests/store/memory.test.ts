import { createMemoryStore } from '../../icl/store/memory.ts'
import { describeStore } from './suite.ts'

describeStore('memory', async () => createMemoryStore())
