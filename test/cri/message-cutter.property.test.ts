import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ContainerStatusResponse, ExecSyncResponse } from '../../src/cri/generated/cri.ts';
import { MessageCutter } from '../../src/cri/message-cutter.ts';

/** Gives the message in parts that end at these places. */
function cut(message: Uint8Array, maxFieldBytes: number, places: readonly number[]) {
  const cutter = new MessageCutter(maxFieldBytes);
  const ends = [...places.filter((place) => place < message.length).sort((a, b) => a - b), message.length];
  let start = 0;
  for (const end of ends) {
    cutter.add(Buffer.from(message.subarray(start, end)));
    start = end;
  }
  return { message: cutter.end(), leftOutBytes: cutter.leftOutBytes };
}

const places = fc.array(fc.nat(1000));

test('an answer keeps the beginning of its outputs and its exit code, however it comes', () => {
  const output = fc.uint8Array({ maxLength: 400 });
  fc.assert(
    fc.property(output, output, fc.integer(), fc.nat(300), places, (stdout, stderr, exitCode, max, ends) => {
      const whole = ExecSyncResponse.encode({ stdout, stderr, exitCode } as ExecSyncResponse).finish();
      const { message, leftOutBytes } = cut(whole, max, ends);
      expect(ExecSyncResponse.decode(message)).toEqual({
        stdout: Buffer.from(stdout.subarray(0, max)),
        stderr: Buffer.from(stderr.subarray(0, max)),
        exitCode,
      });
      expect(leftOutBytes).toBe(Math.max(0, stdout.length - max) + Math.max(0, stderr.length - max));
    }),
  );
});

test('a message of short fields stays as it is', () => {
  fc.assert(
    fc.property(fc.string(), fc.bigInt(0n, 2n ** 62n), places, (message, createdAt, ends) => {
      const whole = ContainerStatusResponse.encode(
        ContainerStatusResponse.fromPartial({ status: { message, createdAt }, info: { a: 'b' } }),
      ).finish();
      expect(cut(whole, 10_000, ends)).toEqual({ message: Buffer.from(whole), leftOutBytes: 0 });
    }),
  );
});

test('a message of endless short fields is refused before it takes memory', () => {
  const cutter = new MessageCutter(1000);
  const exitCode = Buffer.from([0x18, 1]);
  const fields = Buffer.concat(Array.from({ length: 1512 }, () => exitCode));
  cutter.add(fields);
  expect(() => {
    cutter.add(exitCode);
  }).toThrow('the message has too many fields');
});

test.each([
  ['a number that never ends', Buffer.alloc(20, 0xff), 'the message has a number that is too long'],
  ['a field of no known type', Buffer.from([0x0b]), 'the message has a field of wire type 3'],
  ['a field that is not whole', Buffer.from([0x0a, 5, 1]), 'the message is not complete'],
])('%s is refused', (_title, message, error) => {
  expect(() => cut(message, 10, [])).toThrow(error);
});
