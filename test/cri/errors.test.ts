import { expect, test } from 'vitest';
import { codes, silenceText } from '../../src/cri/errors.ts';
import { RpcError } from '../../src/errors.ts';

test('an error of the runtime has 4 KiB of what the runtime said', () => {
  const { message } = new RpcError('RunPodSandbox', 2, 'x'.repeat(5000));
  expect(message).toBe(`${'x'.repeat(4096)} … 904 bytes left out`);
});

const closed = 'No connection established. Last error: ';
test.each([
  [codes.deadlineExceeded, 'Deadline exceeded after 2.000s', 'it did not answer in time'],
  [
    codes.unavailable,
    `${closed}Error: connect ENOENT /run/c.sock (2026-11-29T01:00:00Z). Resolution note: `,
    'its socket does not exist',
  ],
  [codes.unavailable, `${closed}connect ECONNREFUSED /run/c.sock. Resolution note: `, 'nothing listens on its socket'],
  [codes.unavailable, `${closed}connect EACCES /run/c.sock. Resolution note: `, 'connect EACCES /run/c.sock'],
  [codes.unavailable, 'Connection dropped', 'it closed the connection'],
  [codes.notFound, 'no such container', 'no such container'],
])('the silence of a runtime with status %d and text %j is: %s', (code, text, silence) => {
  expect(silenceText(new RpcError('Status', code, text))).toBe(silence);
});
