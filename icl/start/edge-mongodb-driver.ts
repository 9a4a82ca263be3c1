// The parts of MongoDB's driver that the ICL uses. On an edge host this is a separate module.
// biome-ignore lint/performance/noBarrelFile: it is one, for the bundler
export {
  Binary,
  MongoBulkWriteError,
  MongoClient,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  Timestamp,
} from 'mongodb'
