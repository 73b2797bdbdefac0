import { expect, test } from 'vitest';
import { requireRoot } from '../../src/process/needs-root.ts';

/** The error for a user with this effective UID. Undefined if there is none. */
function errorFor(uid: number, message?: string, hint?: string): unknown {
  try {
    requireRoot(message, hint, uid);
    return undefined;
  } catch (error) {
    return error;
  }
}

test('root may do everything', () => {
  expect(errorFor(0)).toBe(undefined);
});

test('another user is told why root is needed', () => {
  expect(errorFor(1000)).toMatchObject({
    name: 'UserError',
    message: 'kubelet-ts must run as root',
    hint: 'It makes mounts and cgroups; start it with sudo.',
  });
  expect(errorFor(1000, 'Only root can run it', 'Run it as root.')).toMatchObject({
    name: 'UserError',
    message: 'Only root can run it',
    hint: 'Run it as root.',
  });
});
