import { expect, test } from 'vitest';
import { dropInsOf, dropInsRemark, leftOutText } from '../../src/containerd/drop-ins-remark.ts';

test.each([
  { stamp: '', isLeftOut: false },
  { stamp: 'ab12', isLeftOut: false },
  { stamp: 'ab12', isLeftOut: true },
])('a configuration says with which drop-ins containerd was started: %j', (started) => {
  const remark = dropInsRemark(started);
  expect(dropInsOf(`# Written by kubelet-ts\n${remark === undefined ? '' : `# ${remark}\n`}version = 2\n`)).toEqual(
    started,
  );
});

const paths = { dropIns: '/r/conf.d', logFile: '/r/containerd.log' };
const beginning = 'containerd runs without the files in /r/conf.d, because it does not start with them: ';

test.each([
  [
    'the first plugin that failed',
    'no start\n  msg="odd key" error="a"\n  msg="failed to load plugin" error="no \\"x\\"" id=1\n  msg="failed to load plugin" error="b"',
    'no "x"',
  ],
  [
    'its last line',
    'no start\n  starting\n  containerd: required plugin [x] not included',
    'containerd: required plugin [x] not included',
  ],
  ['how it ended', 'no start', 'no start'],
])('the warning about drop-ins with which it does not start has %s', (_what, message, reason) => {
  expect(leftOutText(paths, new Error(message))).toBe(beginning + reason);
});

test('the warning names the log if the run before tried them', () => {
  expect(leftOutText(paths)).toBe(`${beginning}see /r/containerd.log`);
});
