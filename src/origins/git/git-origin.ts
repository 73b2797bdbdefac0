import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { joinFiles, linkWarnings } from '../../engine/config/polled/joined-files.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type {
  FetchReport,
  KnownBody,
  ManifestOrigin,
  OriginAnswer,
} from '../../engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { git } from './git-command.ts';
import type { GitLocation } from './git-url.ts';
import { type FoundManifests, manifestBlobs } from './manifest-blobs.ts';

/** Enough for the names of about a hundred thousand files. The other limits count only manifests. */
const maxListBytes = 16 * 1024 * 1024;

interface Options extends GitLocation {
  /** The URL as the operator wrote it. It contains no secrets. */
  url: URL;
  /** The agent's folder for repositories. If absent, as in a command, a temporary folder is used. */
  workFolder?: string | undefined;
}

/**
 * Manifests in a git repository, read by the machine's git with its credential helpers. Objects are read from a bare
 * repository with one commit. Nothing is checked out, so links, hooks, filters and submodules have no effect.
 */
export class GitOrigin implements ManifestOrigin {
  readonly where: string;
  readonly hasFiles = true;
  private readonly protocol: string;
  /** The last commit without usable manifests. It is not fetched again, because a commit never changes. */
  private refused: { commit: string; failure: OriginFailure } | undefined;

  constructor(private readonly options: Options) {
    this.where = options.url.href;
    this.protocol = options.repository.startsWith('https:') ? 'https' : 'http';
  }

  async fetch(known: KnownBody | undefined, report: FetchReport, signal: AbortSignal): Promise<OriginAnswer> {
    const { ref } = this.options;
    const newest = isCommit(ref) ? { commit: ref, name: ref } : await this.newest(signal);
    if (known?.validators.version === newest.commit) return { validators: known.validators };
    if (this.refused?.commit === newest.commit) throw this.refused.failure;
    const { version, files, links } = await this.inRepository((folder) => this.read(folder, newest.name, signal));
    report.warnings.push(...linkWarnings(this.where, 'a repository', links));
    const body = joinFiles(files);
    report.bodyBytes = body.length;
    return { validators: { version }, ...(sha256(body) !== known?.digest && { content: { body } }) };
  }

  /** Returns the commit of the branch or tag, and its name on the server. */
  private async newest(signal: AbortSignal): Promise<{ commit: string; name: string }> {
    const { ref, repository } = this.options;
    const names = ref === 'HEAD' ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`];
    const listed = await git(['ls-remote', '--quiet', '--', repository, ...names], { protocol: this.protocol, signal });
    const commits = new Map(
      listed
        .toString('utf8')
        .split('\n')
        .map((line) => line.split('\t'))
        .map(([commit = '', name = '']) => [name, commit] as const),
    );
    for (const name of names) {
      const commit = commits.get(name);
      if (commit !== undefined && isCommit(commit)) return { commit, name: name.replace('^{}', '') };
    }
    const hint = 'Name a branch, a tag or the whole id of a commit: ?ref=…';
    throw new OriginFailure('is no manifest', `the repository has no ${ref}`, hint);
  }

  private async read(folder: string, name: string, signal: AbortSignal): Promise<FoundManifests & { version: string }> {
    const { repository } = this.options;
    const run = (...args: string[]): Promise<Buffer> => git(args, { protocol: this.protocol, signal });
    await run('init', '--quiet', '--bare', '--template=', '--', folder);
    const fetch = ['fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--no-write-commit-graph'];
    await run('-C', folder, ...fetch, '--', repository, name);
    const version = (await run('-C', folder, 'rev-parse', '--verify', 'FETCH_HEAD^{commit}')).toString('latin1').trim();
    try {
      return { version, ...(await this.manifestsOf(folder, version, signal)) };
    } catch (error) {
      // Other failures may be over at the next check.
      if (error instanceof OriginFailure && error.kind === 'is no manifest') {
        this.refused = { commit: version, failure: error };
      }
      throw error;
    }
  }

  private async manifestsOf(folder: string, version: string, signal: AbortSignal): Promise<FoundManifests> {
    const { path } = this.options;
    const list = ['ls-tree', '-r', '-z', '-l', '--full-tree', version, ...(path === '' ? [] : ['--', path])];
    const limits = { protocol: this.protocol, signal, maxOutputBytes: maxListBytes };
    const tree = await git(['-C', folder, ...list], limits);
    const blobs = manifestBlobs(tree.toString('utf8'), path);
    const contents = await git(['-C', folder, 'cat-file', '--batch'], {
      protocol: this.protocol,
      signal,
      input: blobs.files.map(({ id }) => `${id}\n`).join(''),
      maxOutputBytes: 2 * maxManifestBytes,
    });
    let position = 0;
    const files = blobs.files.map(({ path: file, bytes: size }) => {
      // The content follows a line with id, type and size.
      const start = contents.indexOf('\n', position) + 1;
      position = start + size + 1;
      return { path: file, bytes: contents.subarray(start, start + size) };
    });
    return { files, links: blobs.links };
  }

  /** Creates a folder for one read, after removing the one of an earlier run. */
  private async inRepository<T>(use: (folder: string) => Promise<T>): Promise<T> {
    const { workFolder } = this.options;
    if (workFolder !== undefined) await makeFolder(workFolder, 0o700);
    const folder =
      workFolder === undefined
        ? await mkdtemp(join(tmpdir(), 'kubelet-ts-git-'))
        : join(workFolder, sha256(this.where).slice(0, 32));
    const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
    if (workFolder !== undefined) await remove();
    try {
      return await use(folder);
    } finally {
      await remove();
    }
  }
}

/** True for a full commit id, SHA-1 or SHA-256. */
const isCommit = (text: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
