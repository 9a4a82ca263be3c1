import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { describeStore } from './suite.ts'

describeStore('memory', async () => createMemoryStore())
