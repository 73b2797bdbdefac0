import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { changelogOfRelease, notesOf } from '../../scripts/release.mjs';

const script = join(import.meta.dirname, '../../scripts/release.mjs');
const changelog = `# Changelog

## [Unreleased]

### Added

- One thing.

## [0.1.0] - 2026-11-01

### Fixed

- Another thing.
`;

test('a release dates the unreleased changes, and leaves room for the next ones', () => {
  expect(changelogOfRelease(changelog, '0.2.0', '2026-12-24')).toBe(`# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-24

### Added

- One thing.

## [0.1.0] - 2026-11-01

### Fixed

- Another thing.
`);
});

test('the notes of a version are what the changelog says below its heading', () => {
  expect([notesOf(changelog, 'Unreleased'), notesOf(changelog, '0.1.0')]).toEqual([
    '### Added\n\n- One thing.',
    '### Fixed\n\n- Another thing.',
  ]);
});

test('a release without changes is refused', () => {
  const released = changelogOfRelease(changelog, '0.2.0', '2026-12-24');
  expect(() => changelogOfRelease(released, '0.3.0', '2026-12-25')).toThrow(
    'CHANGELOG.md says nothing about Unreleased',
  );
});

test('the changelog of this clone has notes', async () => {
  const text = await readFile(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8');
  expect(() => changelogOfRelease(text, '0.1.0', '2026-12-24')).not.toThrow();
});

test.each([
  [['v1'], 'error: "v1" is not a version such as 0.2.0\n'],
  [['notes', 'v9.9.9'], 'error: CHANGELOG.md says nothing about 9.9.9\n'],
])('npm run release -- %j is refused', async (args, stderr) => {
  const result = await execa('node', [script, ...args], { reject: false, stripFinalNewline: false });
  expect({ exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr }).toEqual({
    exitCode: 2,
    stdout: '',
    stderr,
  });
});
