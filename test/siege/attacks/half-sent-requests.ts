import { type Attack, ports } from '../attack.ts';

/** Thousands of connections to /healthz by a user without rights: more than the agent may have descriptors. */
export const halfSentRequests: Attack = {
  name: 'half-sent-requests',
  carryOn: ({ peer, hit }) =>
    peer('half-sent-requests.mjs', { arguments: [String(ports.healthz), '3000'], isUnprivileged: true, onLine: hit }),
};
