/**
 * Decodes base64, ignoring line breaks. Returns undefined if the text is not base64. Go: encoding/base64 StdEncoding
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const compact = text.replaceAll(/[\r\n]/g, '');
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return undefined;
  return Uint8Array.from(atob(compact), (character) => character.charCodeAt(0));
}
