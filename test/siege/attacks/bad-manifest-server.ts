import { type Attack, ports } from '../attack.ts';

const paths = ['trickles', 'huge', 'bomb', 'hangs', 'redirects', 'half', 'null-items', 'garbage'];

/** Manifest URLs whose server trickles, floods, hangs, goes round in circles, closes half-way, or takes all back. */
export const badManifestServer: Attack = {
  name: 'manifest-server',
  prepare: () =>
    Promise.resolve([
      ...paths.flatMap((path) => ['--manifest-url', `http://127.0.0.1:${ports.manifestServer}/${path}`]),
      '--http-check-frequency',
      '3s',
    ]),
  carryOn: ({ peer, hit }) => peer('manifest-server.mjs', { arguments: [String(ports.manifestServer)], onLine: hit }),
};
