// What the ICL uses of MongoDB's driver: on an edge host it is a module of its own.
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
