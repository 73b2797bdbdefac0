/** So often in a row a registry may be out of reach: the pulls come at once, after 10 s and after 20 s more. */
const maxUnreachable = 3;

/** What a registry, or the runtime, says of an image that no later pull brings either. */
const final = [
  /manifest unknown|name unknown|repository name not known|: not found\b/i,
  /repository does not exist|pull access denied|requested access to the resource is denied/i,
  /authorization failed|unauthorized|forbidden|no basic auth credentials/i,
  /no match for platform|no image found in manifest list|invalid reference format/i,
  /x509: |server gave HTTP response to HTTPS client/i,
  /SignatureValidationFailed/,
];

/** What nobody answered to, for now or for ever. */
const unreachable = [
  /no such host|server misbehaving|Temporary failure in name resolution/i,
  /connection refused|connection reset|no route to host|network is unreachable/i,
  /i\/o timeout|handshake timeout|deadline exceeded|RegistryUnavailable/i,
];

/**
 * Whether a pull that failed with this message is worth no other one. `failures` is how often in a row it failed. A registry
 * that is busy, has an error of its own, or breaks off is asked again.
 */
export function isImageHopeless(message: string, failures: number): boolean {
  if (final.some((pattern) => pattern.test(message))) return true;
  return failures >= maxUnreachable && unreachable.some((pattern) => pattern.test(message));
}
