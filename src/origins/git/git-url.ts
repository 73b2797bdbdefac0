/** Manifests in a git repository. */
export interface GitLocation {
  /** URL of the repository, as given to git. */
  repository: string;
  /** Folder or file in it, without leading and trailing slashes. Empty for everything. */
  path: string;
  /** Branch, tag or commit id. `HEAD` means the default branch. */
  ref: string;
}

/** Parses `git+https://HOST/REPOSITORY//PATH?ref=REF`. Returns undefined for other forms, and for one with a user. */
export function parseGitURL({
  protocol,
  username,
  password,
  host,
  pathname,
  searchParams,
  hash,
}: URL): GitLocation | undefined {
  if (!/^git\+https?:$/.test(protocol) || `${username}${password}${hash}` !== '' || host === '') return undefined;
  const [, repository = '', path = ''] = /^(\/.*?[^/])(?:\/\/(.*))?$/.exec(pathname) ?? [];
  const ref = searchParams.get('ref') ?? 'HEAD';
  if (repository === '' || !isRefName(ref) || [...searchParams.keys()].some((name) => name !== 'ref')) return undefined;
  const folder = decoded(path)?.replace(/\/+$/, '');
  if (folder === undefined || folder.split('/').includes('..')) return undefined;
  return { repository: `${protocol.slice('git+'.length)}//${host}${repository}`, path: folder, ref };
}

/** True if git takes it neither for an option nor for a pattern. */
const isRefName = (ref: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,250}$/.test(ref) && !ref.includes('..');

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
