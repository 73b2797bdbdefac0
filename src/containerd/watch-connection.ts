import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';

/**
 * Holds an idle gRPC connection open and calls `onLost` once when the other side ends it: how to be told of the death of
 * a process that is not our child. Returns a function that lets go without a call.
 */
export function watchConnection(socketPath: string, onLost: () => void): () => void {
  const socket = connect(socketPath);
  const session = connectHttp2('http://localhost', { createConnection: () => socket });
  let lost = false;
  const report = (): void => {
    if (lost) return;
    lost = true;
    session.destroy();
    onLost();
  };
  session.on('error', report);
  session.on('goaway', report);
  session.on('close', report);
  session.unref();
  socket.unref();
  return () => {
    lost = true;
    session.destroy();
  };
}
