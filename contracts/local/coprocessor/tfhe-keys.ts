import { randomBytes } from 'node:crypto'
import {
  CompactPkeCrs,
  set_server_key as setServerKey,
  TfheClientKey,
  TfheCompactPublicKey,
  TfheServerKey,
} from 'tfhe'
import { maxSerializedBytes } from '../../../lib/coprocessor/build-proof.ts'
import { makeSampleKeys } from '../../../lib/host/coprocessor/tfhe-sample.ts'
import { readKey, writeKeys } from './key-files.ts'
import { crsBits } from './parameters.ts'

/** The keys, loaded in this thread. */
export type TfheKeys = ReturnType<typeof openKeys>

/** Makes the keys of a coprocessor and writes them (more than a minute of computing). */
export const makeKeys = (folder: string): void => {
  writeKeys(folder, { ...makeSampleKeys(crsBits), verifierKey: randomBytes(32) })
}

/** Reads the keys, and makes the evaluation key for verification (a second). */
export const openKeys = (folder: string) => {
  const clientKey = TfheClientKey.safe_deserialize(readKey(folder, 'clientKey'), maxSerializedBytes)
  const publicKey = readKey(folder, 'publicKey')
  setServerKey(TfheServerKey.new(clientKey))
  return {
    clientKey,
    publicKey: TfheCompactPublicKey.safe_deserialize(publicKey, maxSerializedBytes),
    crs: CompactPkeCrs.safe_deserialize(readKey(folder, 'crs'), maxSerializedBytes),
  }
}
