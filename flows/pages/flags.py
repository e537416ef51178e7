"""Flags of countries, as the characters that a font may draw as one: no files, and the code where no font does.

A code is one of ISO 3166: two letters, or three, which sites of sports use, too. Some of the latter are those of the
Olympic committee. Anything else is no code, and has no flag.
"""

from __future__ import annotations

import re

_TWO = re.compile(r"[A-Za-z]{2}").fullmatch
_CODES = (  # three letters of ISO 3166 and of the Olympic committee, and the two of the flag
    "AFG=AF ALB=AL ALG=DZ DZA=DZ AND=AD ANG=AO AGO=AO ARG=AR ARM=AM AUS=AU AUT=AT AZE=AZ BAH=BS BHS=BS BRN=BH "
    "BHR=BH BAN=BD BGD=BD BAR=BB BRB=BB BLR=BY BEL=BE BEN=BJ BOL=BO BIH=BA BOT=BW BWA=BW BRA=BR BUL=BG BGR=BG "
    "BUR=BF BFA=BF CAM=KH KHM=KH CMR=CM CAN=CA CHI=CL CHL=CL CHN=CN COL=CO CRC=CR CRI=CR CIV=CI CRO=HR HRV=HR "
    "CUB=CU CYP=CY CZE=CZ DEN=DK DNK=DK DOM=DO ECU=EC EGY=EG ESA=SV SLV=SV ESP=ES EST=EE ETH=ET FIN=FI FRA=FR "
    "GBR=GB GEO=GE GER=DE DEU=DE GHA=GH GRE=GR GRC=GR GUA=GT GTM=GT HAI=HT HTI=HT HKG=HK HON=HN HND=HN HUN=HU "
    "INA=ID IDN=ID IND=IN IRI=IR IRN=IR IRL=IE IRQ=IQ ISL=IS ISR=IL ITA=IT JAM=JM JOR=JO JPN=JP KAZ=KZ KEN=KE "
    "KGZ=KG KOR=KR KOS=XK KSA=SA SAU=SA KUW=KW KWT=KW LAT=LV LVA=LV LBN=LB LIB=LB LIE=LI LTU=LT LUX=LU MAR=MA "
    "MAS=MY MYS=MY MDA=MD MEX=MX MGL=MN MNG=MN MKD=MK MLT=MT MNE=ME MON=MC MCO=MC NED=NL NLD=NL NEP=NP NPL=NP "
    "NGR=NG NGA=NG NOR=NO NZL=NZ PAK=PK PAN=PA PAR=PY PRY=PY PER=PE PHI=PH PHL=PH POL=PL POR=PT PRT=PT PRK=KP "
    "PUR=PR PRI=PR QAT=QA ROU=RO ROM=RO RSA=ZA ZAF=ZA RUS=RU SEN=SN SGP=SG SIN=SG SLO=SI SVN=SI SRB=RS SRI=LK "
    "LKA=LK SUI=CH CHE=CH SVK=SK SWE=SE SYR=SY THA=TH TJK=TJ TKM=TM TPE=TW TWN=TW TTO=TT TUN=TN TUR=TR UAE=AE "
    "ARE=AE UGA=UG UKR=UA URU=UY URY=UY USA=US UZB=UZ VEN=VE VIE=VN VNM=VN ZIM=ZW ZWE=ZW"
)
_OF_THREE = dict(pair.split("=") for pair in _CODES.split())
_FIRST = 0x1F1E6 - ord("A")  # of the indicators of regions


def flag(country: str) -> str:
    """The flag of a country by its code, two characters; empty if the text is no code."""
    code = _OF_THREE.get(country.upper(), "") if len(country) == 3 else country.upper() if _TWO(country) else ""
    return "".join(chr(_FIRST + ord(letter)) for letter in code)
