// Comes after Redoc's own code, in one script with it.
const reference = document.getElementById('reference')
const font = 'system-ui, sans-serif'
const mono = 'ui-monospace, monospace'
reference.className = 'redoc'
Redoc.init(
  '/openapi.json',
  {
    disableSearch: true,
    hideLoading: true,
    nativeScrollbars: true,
    sideNavStyle: 'path-only',
    sortRequiredPropsFirst: true,
    jsonSampleExpandLevel: 4,
    theme: {
      sidebar: { width: '280px' },
      typography: {
        fontFamily: font,
        headings: { fontFamily: font, fontWeight: '600' },
        code: { fontFamily: mono, wrap: true },
      },
    },
  },
  reference,
)
