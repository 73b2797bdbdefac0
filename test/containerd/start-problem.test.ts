import { expect, test } from 'vitest';
import { endOfLog, findStartProblem, remedyFor } from '../../src/containerd/start-problem.ts';

const plugin = (name: string, error: string): string =>
  `time="2026-11-29T14:08:04Z" level=warning msg="failed to load plugin ${name}" error="${error}"`;

test.each([
  {
    what: 'a database with a broken first page',
    lines: [
      plugin('io.containerd.metadata.v1.bolt', 'invalid database'),
      plugin('io.containerd.grpc.v1.cri', 'no service'),
    ],
    kind: 'damaged store',
    line: plugin('io.containerd.metadata.v1.bolt', 'invalid database'),
  },
  {
    what: 'a database cut in half, with a trace of Go after the line that tells',
    lines: [
      'some line',
      'panic: invalid freelist page: 0, page type is unknown<00>',
      'goroutine 1 [running]:',
      'go.etcd.io/bbolt.(*freelist).read(0xc00048a0c0, 0x7f6d8f1e5000)',
      '\tgithub.com/containerd/containerd/cmd/containerd/command/main.go:192 +0x93b',
    ],
    kind: 'damaged store',
    line: 'panic: invalid freelist page: 0, page type is unknown<00>',
  },
  {
    what: 'a page with nonsense in the middle of a database',
    lines: ['panic: runtime error: index out of range [5] with length 2', 'go.etcd.io/bbolt.(*Cursor).search()'],
    kind: 'damaged store',
    line: 'panic: runtime error: index out of range [5] with length 2',
  },
  {
    what: 'an import into a store whose snapshots cannot be read',
    lines: ['failed to stat snapshot sha256:cf: failed to open database file: invalid database: unknown'],
    kind: 'damaged store',
    line: 'failed to stat snapshot sha256:cf: failed to open database file: invalid database: unknown',
  },
  {
    what: 'no inotify instance',
    lines: [plugin('io.containerd.grpc.v1.cri', 'failed to create fsnotify watcher: too many open files')],
    kind: 'inotify',
    line: plugin('io.containerd.grpc.v1.cri', 'failed to create fsnotify watcher: too many open files'),
  },
  {
    what: 'a disk that is read-only, which keeps the database from opening',
    lines: [plugin('io.containerd.metadata.v1.bolt', 'open meta.db: read-only file system')],
    kind: 'read-only disk',
    line: plugin('io.containerd.metadata.v1.bolt', 'open meta.db: read-only file system'),
  },
  {
    what: 'a disk that fails to read, which is no damage to repair by itself',
    lines: [plugin('io.containerd.metadata.v1.bolt', 'read meta.db: input/output error')],
    kind: 'disk error',
    line: plugin('io.containerd.metadata.v1.bolt', 'read meta.db: input/output error'),
  },
])('recognises $what', ({ lines, kind, line }) => {
  expect(findStartProblem(lines)).toEqual({ kind, line });
});

test('takes nothing else for damage', () => {
  expect(
    findStartProblem([
      'panic: runtime error: invalid memory address or nil pointer dereference',
      'github.com/containerd/containerd/pkg/cri.(*criService).run()',
      plugin('io.containerd.grpc.v1.cri', 'invalid plugin config'),
    ]),
  ).toBeUndefined();
});

test.each([
  'fatal error: runtime: out of memory',
  'fatal error: newosproc',
  'fatal error: runtime: cannot allocate memory',
])('a machine without memory or processes is not damage, though Go then lists what all threads do: %s', (line) => {
  expect(
    findStartProblem([line, 'goroutine 1 [running]:', 'go.etcd.io/bbolt.(*DB).mmap(0xc0001, 0x8000)']),
  ).toBeUndefined();
});

test.each(['unexpected fault address 0x7f6d', 'fatal error: fault'])(
  'a page that cannot be read is damage: %s',
  (line) => {
    expect(findStartProblem([line, 'go.etcd.io/bbolt.(*DB).page(0xc0001, 0x8000)'])).toEqual({
      kind: 'damaged store',
      line,
    });
  },
);

test('names the command that cures a damaged store', () => {
  expect(remedyFor({ kind: 'damaged store', line: '' }, '/data/my box')).toBe(
    "Set the damaged store of containerd aside and start again: kubelet-ts repair-store --root-dir '/data/my box'",
  );
});

test('a containerd that worked before it crashed exited for its crash, not for an earlier error', () => {
  const earlier = 'level=error msg="open /var/lib/cni/x: read-only file system; failed to stat snapshot a"';
  const panic = 'panic: runtime error: invalid memory address';
  expect(endOfLog([earlier, panic, 'goroutine 1 [running]:'])).toEqual([panic]);
  expect(endOfLog([earlier, '1', '2', '3', '4', '5'])).toEqual(['1', '2', '3', '4', '5']);
});
