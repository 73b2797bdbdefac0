import { Server, ServerCredentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';

/** Starts a gRPC server without services on this socket, until the test has finished. */
export async function startPlainGrpcServer(socketPath: string): Promise<void> {
  const server = new Server();
  onTestFinished(() => {
    server.forceShutdown();
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}
