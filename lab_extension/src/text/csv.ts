/** Tables as CSV (RFC 4180), for spreadsheets. Pure, but for `download`. */

/** A cell that no spreadsheet takes for a formula, in quotes where it needs them. */
export function cellOf(value: string | number | null): string {
  if (value === null) {
    return '';
  }
  if (typeof value === 'number') {
    return String(value);
  }
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** A table with its head. */
export function csvOf(
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[]
): string {
  return [head, ...rows].map(row => `${row.map(cellOf).join(',')}\r\n`).join('');
}

/** Have the browser store a text as a file. */
export function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  link.download = name;
  link.click();
  // The browser has begun to store it when it comes back to its queue.
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}
