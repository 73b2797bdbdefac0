import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { HTTPCredentialFiles } from '../../origins/http/http-credentials.ts';
import { type MinisignPublicKey, parseMinisignPublicKey } from '../../origins/http/minisign.ts';
import type { ManifestTrust } from '../../origins/http/trust-manifest.ts';
import { parseGitURL } from '../../origins/git/git-url.ts';
import { parseOCIURL } from '../../origins/oci/oci-url.ts';
import { isHTTP, isThisMachine, shownURL } from '../../origins/http/url.ts';
import { UserError } from '../../errors.ts';
import { collect } from './flags.ts';
import { credentialFiles, parseHeader, refuseLookAlikes, refuseSharedCredentials } from './url-credentials.ts';

/** The parsed flags of manifest URLs. */
export interface ManifestURLOptions {
  /** Each URL is a separate source. May contain user, password and query, which must not be shown. */
  manifestURLs: string[];
  /** Headers sent to all URLs. A reload replaces its entries. */
  manifestURLHeaders: [name: string, value: string][];
  manifestURLFiles: HTTPCredentialFiles;
  manifestURLTrust: ManifestTrust;
  /** Files with cosign public keys for artifacts in registries. */
  manifestURLCosignKeyFiles: string[];
}

/** Throws a UserError for invalid flags. Its text omits the values because they may be secrets. */
export function manifestURLOptions(flags: ManifestURLFlags): ManifestURLOptions {
  const urls = (flags.manifestUrl ?? []).filter((url) => url !== '').map(parseURL);
  refuseLookAlikes(urls, urlFlag);
  const headers = (flags.manifestUrlHeader ?? []).map((text) => parseHeader(text, urlFlag));
  const files = credentialFiles(urlFlag, {
    ca: flags.manifestUrlCaFile,
    cert: flags.manifestUrlCertFile,
    key: flags.manifestUrlKeyFile,
    token: flags.manifestUrlTokenFile,
  });
  refuseFlagsWithoutEffect(urls, flags);
  refuseSharedCredentials(urls, headers, files);
  return {
    manifestURLs: urls.map(({ href }) => href),
    manifestURLHeaders: headers,
    manifestURLFiles: files,
    manifestURLTrust: {
      sha256: (flags.manifestUrlSha256 ?? []).map((text) => parseSHA256(text)),
      publicKeys: (flags.manifestUrlPublicKey ?? []).map((text) => parsePublicKey(text)),
    },
    manifestURLCosignKeyFiles: (flags.manifestUrlCosignKey ?? []).map((path) => resolve(path)),
  };
}

const urlFlag = '--manifest-url';

function parseURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (isHTTP(url) || isMetadataURL(url) || isGitURL(url) || isOCI(url))) return url;
  const [, scheme = '', slashes] = /^([a-z][a-z0-9+.-]*):(\/\/)?/i.exec(text) ?? [];
  const name = scheme.toLowerCase();
  // Without slashes it may be a user with a password.
  const isShown = slashes !== undefined || forms.has(name);
  const message = isShown
    ? `--manifest-url ${scheme}:${slashes ?? ''}… is not a URL of manifests`
    : '--manifest-url must start with the scheme of a URL';
  throw new UserError(message, { hint: `${formHint(name)} See docs/use/manifests.md.` });
}

function formHint(scheme: string): string {
  if (scheme === 'git+http') return `Its form is ${gitForm}. Without TLS it is only for this machine.`;
  const form = forms.get(scheme);
  if (form !== undefined) return `Its form is ${form}.`;
  const starts = [...forms.keys()].map((name) => `${name}://`);
  const list = `${starts.slice(0, -1).join(', ')} or ${starts.at(-1) ?? ''}`;
  return `It begins with ${list}, such as https://box.example/pods.yaml.`;
}

const gitForm = 'git+https://HOST/REPOSITORY//PATH?ref=REF';
/** By scheme. */
const forms: ReadonlyMap<string, string> = new Map([
  ['http', 'http://HOST/PATH'],
  ['https', 'https://HOST/PATH'],
  ['gce', 'gce://KEY'],
  ['ec2', 'ec2://'],
  ['azure', 'azure://'],
  ['openstack', 'openstack://'],
  ['nocloud', 'nocloud:///FOLDER'],
  ['git+https', gitForm],
  ['oci', 'oci://REGISTRY/REPOSITORY:TAG'],
]);

/** True if the whole URL is that of an artifact. */
const isOCI = (url: URL): boolean => parseOCIURL(url) !== undefined;

/** Without TLS it works only for this machine. Passwords come from git's credential helpers. */
const isGitURL = (url: URL): boolean =>
  parseGitURL(url) !== undefined && (url.protocol === 'git+https:' || isThisMachine(url.hostname));

const metadataSchemes = ['gce:', 'ec2:', 'azure:', 'openstack:', 'nocloud:'];

/** Only GCE has keys, and only NoCloud has a folder. */
function isMetadataURL({ protocol, host, username, port, pathname, search }: URL): boolean {
  if (!metadataSchemes.includes(protocol) || username !== '' || port !== '' || search !== '') return false;
  if (protocol === 'nocloud:') return host === '';
  return pathname === '' && (protocol === 'gce:' ? /^[A-Za-z0-9_-]{0,128}$/.test(host) : host === '');
}

/** Throws a UserError if a flag would have no effect for some URL. */
function refuseFlagsWithoutEffect(urls: readonly URL[], flags: ManifestURLFlags): void {
  const isSet = (value: string | string[] | undefined): boolean => value !== undefined && value.length > 0;
  for (const { names, isFor, kinds } of limitedFlags) {
    const other = urls.find((url) => !isFor(url));
    const flag = names.find((name) => isSet(flags[name]));
    if (other !== undefined && flag !== undefined) throw withoutEffect(flag, other, kinds);
  }
}

function withoutEffect(flag: string, other: URL, kinds: string): UserError {
  const shown = flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return new UserError(`--${shown} has no effect for ${shownURL(other)}`, {
    hint: `It is for ${kinds} URLs. Leave out the flag or that URL.`,
  });
}

interface LimitedFlags {
  names: readonly (keyof ManifestURLFlags)[];
  isFor: (url: URL) => boolean;
  kinds: string;
}

const limitedFlags: readonly LimitedFlags[] = [
  {
    names: [
      'manifestUrlHeader',
      'manifestUrlCertFile',
      'manifestUrlTokenFile',
      'manifestUrlSha256',
      'manifestUrlPublicKey',
    ],
    isFor: isHTTP,
    kinds: 'http and https',
  },
  { names: ['manifestUrlCaFile'], isFor: (url) => isHTTP(url) || isOCI(url), kinds: 'http, https and oci' },
  { names: ['manifestUrlCosignKey'], isFor: isOCI, kinds: 'oci' },
];

/** Throws a UserError that names the flag. */
export function parseSHA256(text: string, flag = '--manifest-url-sha256'): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new UserError(`${flag} must be 64 hex digits, as sha256sum prints them`);
}

/** Throws a UserError that names the flag. */
export function parsePublicKey(text: string, flag = '--manifest-url-public-key'): MinisignPublicKey {
  const key = parseMinisignPublicKey(text);
  if (key !== undefined) return key;
  throw new UserError(`${flag} must be a public key of minisign`, {
    hint: 'It is the second line of minisign.pub, 56 characters that begin with RW.',
  });
}

/** Flags of manifest URLs, as parsed by commander. */
export interface ManifestURLFlags {
  manifestUrl?: string[];
  manifestUrlHeader?: string[];
  manifestUrlCaFile?: string;
  manifestUrlCertFile?: string;
  manifestUrlKeyFile?: string;
  manifestUrlTokenFile?: string;
  manifestUrlSha256?: string[];
  manifestUrlPublicKey?: string[];
  manifestUrlCosignKey?: string[];
}

/** Adds the flags of manifest URLs. The first two are the kubelet's. */
export function addManifestURLOptions(command: Command): Command {
  return command
    .option(
      '--manifest-url <url>',
      'URL of manifests, cloud metadata, a git repository or an OCI artifact; repeatable',
      collect,
    )
    .option('--manifest-url-header <name:value>', 'header sent to the manifest URLs; repeatable', collect)
    .option('--manifest-url-ca-file <path>', 'authorities to trust instead of the well-known ones')
    .option('--manifest-url-cert-file <path>', 'client certificate for the manifest URLs')
    .option('--manifest-url-key-file <path>', 'key of the client certificate')
    .option('--manifest-url-token-file <path>', 'bearer token for the manifest URLs')
    .option('--manifest-url-sha256 <hex>', 'SHA-256 of an accepted manifest; repeatable', collect)
    .option('--manifest-url-public-key <key>', 'minisign key that must have signed the manifest; repeatable', collect)
    .option(
      '--manifest-url-cosign-key <path>',
      'cosign public key that must have signed the artifact; repeatable',
      collect,
    );
}
