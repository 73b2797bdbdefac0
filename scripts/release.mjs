// Prepares a release: its version, changelog, commit and tag. Pushing the tag publishes it; see the release workflow.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';

const usage = `Usage: npm run release -- VERSION [--dry-run]
       node scripts/release.mjs notes VERSION

Dates the unreleased changes in CHANGELOG.md, sets the version, builds the packages, commits and tags.
With --dry-run it shows the changes and builds the packages, but changes no file and no branch.
"notes" prints what CHANGELOG.md says about a version.
`;
const root = join(import.meta.dirname, '..');
const changelogFile = join(root, 'CHANGELOG.md');
const packages = 'dist/packages';
const unreleased = '## [Unreleased]\n';

class Mistake extends Error {}

/** Returns what a changelog says about a version, without the heading. Throws if it says nothing. */
export function notesOf(changelog, version) {
  const [, rest] = changelog.split(`## [${version}]`);
  const notes = rest
    ?.replace(/^.*\n/, '')
    .split(/^## \[/m, 1)[0]
    .trim();
  if (!notes) throw new Mistake(`CHANGELOG.md says nothing about ${version}`);
  return notes;
}

/** Returns the changelog with its unreleased changes moved under this version. */
export function changelogOfRelease(changelog, version, date) {
  notesOf(changelog, 'Unreleased');
  return changelog.replace(unreleased, `${unreleased}\n## [${version}] - ${date}\n`);
}

async function git(...args) {
  return (await execa('git', args, { cwd: root })).stdout;
}

async function check(version, dryRun) {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Mistake(`"${version}" is not a version such as 0.2.0`);
  if (await git('tag', '--list', `v${version}`)) throw new Mistake(`the tag v${version} exists already`);
  if (!dryRun && (await git('status', '--porcelain')))
    throw new Mistake('commit or stash the changes in this clone first');
}

async function release(version, dryRun) {
  await check(version, dryRun);
  const changelog = changelogOfRelease(
    await readFile(changelogFile, 'utf8'),
    version,
    new Date().toISOString().slice(0, 10),
  );
  if (!dryRun) {
    await writeFile(changelogFile, changelog);
    await execa('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'], { cwd: root });
  }
  await execa('npm', ['run', '--silent', 'package'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (dryRun) {
    process.stdout.write(`v${version} would be tagged with these notes:\n\n${notesOf(changelog, version)}\n`);
    return;
  }
  await git('add', 'CHANGELOG.md', 'package.json', 'package-lock.json');
  await git('commit', '--message', `release: v${version}`);
  await git('tag', '--annotate', `v${version}`, '--message', `v${version}`);
  process.stdout.write(`Tagged v${version}; packages are in ${packages}. Publish it: git push --follow-tags\n`);
}

async function main() {
  try {
    const { values, positionals } = parseArgs({
      options: { help: { type: 'boolean', short: 'h' }, 'dry-run': { type: 'boolean' } },
      allowPositionals: true,
    });
    const [first, second] = positionals;
    if (values.help) process.stdout.write(usage);
    else if (first === 'notes' && second) {
      process.stdout.write(`${notesOf(await readFile(changelogFile, 'utf8'), second.replace(/^v/, ''))}\n`);
    } else if (first && !second) await release(first, values['dry-run'] === true);
    else throw new Mistake(`one version is expected\n\n${usage}`);
  } catch (error) {
    if (!(error instanceof Mistake) && !error.code?.startsWith?.('ERR_PARSE_ARGS')) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 2;
  }
}

if (import.meta.filename === process.argv[1]) await main();
