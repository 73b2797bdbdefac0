import type { Command } from 'commander';
import { collect } from './flag-values.ts';

/** Flags of manifest URLs, as commander hands them over. */
export interface ManifestURLFlags {
  manifestUrl?: string[];
  manifestUrlHeader?: string[];
  manifestUrlCaFile?: string;
  manifestUrlCertFile?: string;
  manifestUrlKeyFile?: string;
  manifestUrlTokenFile?: string;
  manifestUrlSha256?: string[];
  manifestUrlPublicKey?: string[];
}

/** Adds them. The first two are the kubelet's. */
export function addManifestURLOptions(command: Command): Command {
  return command
    .option('--manifest-url <url>', 'URL of manifests; repeatable', collect)
    .option('--manifest-url-header <name:value>', 'header sent to the manifest URLs; repeatable', collect)
    .option('--manifest-url-ca-file <path>', 'authorities to believe, in place of the well-known ones')
    .option('--manifest-url-cert-file <path>', 'client certificate for the manifest URLs')
    .option('--manifest-url-key-file <path>', 'key of the client certificate')
    .option('--manifest-url-token-file <path>', 'bearer token for the manifest URLs')
    .option('--manifest-url-sha256 <hex>', 'SHA-256 of a manifest to believe; repeatable', collect)
    .option('--manifest-url-public-key <key>', 'minisign key that has to have signed; repeatable', collect);
}
