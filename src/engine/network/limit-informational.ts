import type { ClientRequest } from 'node:http';

/** As many as Go's client takes, which the kubelet uses. */
const maxInformational = 5;

/** Ends a request whose server sends one 1xx after the other, as fast as we read them, and never an answer. */
export function limitInformational(request: ClientRequest): ClientRequest {
  let informational = 0;
  return request.on('information', () => {
    informational += 1;
    if (informational > maxInformational) request.destroy(new Error('too many 1xx informational responses'));
  });
}
